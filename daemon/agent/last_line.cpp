// A traceback ends with its exception, but runtimes and finalizers print more after it, so the last
// lines are searched for an error word first.
#include "daemon/agent/last_line.hpp"

#include "base/text/line_splitter.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "daemon/steps/step_text.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace osora::daemon {
namespace {

constexpr std::size_t kLinesSearched = 30;
constexpr std::size_t kShownMax = 300;

/// PyTorch puts "[rank1]: " in front of every line of a traceback; the rank is already known.
std::string_view without_rank(std::string_view line) {
    constexpr std::string_view kPrefix = "[rank";
    auto const end = line.find("]: ");
    bool const marked =
        line.starts_with(kPrefix) && end != std::string_view::npos &&
        line.substr(kPrefix.size(), end - kPrefix.size()).find_first_not_of("0123456789") ==
            std::string_view::npos;
    return marked ? trimmed(line.substr(end + 3)) : line;
}

bool names_error(std::string_view line) {
    constexpr std::array<std::string_view, 8> kWords{
        "Error:",    "Error(",  "error:",    "ERROR",
        "Exception", "what():", "Assertion", "terminate called"};
    return std::ranges::any_of(
        kWords, [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

}  // namespace

std::string last_line_of(std::string_view tail) {
    std::vector<std::string> lines;
    LineSplitter splitter;
    auto const keep = [&](std::string_view line) {
        std::string_view const text = without_rank(trimmed(line));
        if (!text.empty() && !find_step(text)) lines.emplace_back(text.substr(0, kShownMax));
    };
    splitter.feed(tail, keep);
    splitter.feed("\n", keep);
    if (lines.empty()) return "";
    std::size_t const searched = std::min(lines.size(), kLinesSearched);
    auto const begin = lines.rbegin();
    auto const found = std::find_if(begin, begin + static_cast<std::ptrdiff_t>(searched),
                                    [](std::string const& line) { return names_error(line); });
    bool const named = found != begin + static_cast<std::ptrdiff_t>(searched);
    return printable(named ? *found : lines.back(), "\n\t");
}

std::string last_part(std::string_view tail, std::size_t bytes) {
    if (tail.size() > bytes) {
        tail.remove_prefix(tail.size() - bytes);
        auto const line = tail.find('\n');
        if (line != std::string_view::npos) tail.remove_prefix(line + 1);
    }
    return printable(tail, "\n\t");
}

}  // namespace osora::daemon
