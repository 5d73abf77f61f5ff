// Reads a source only while its window has room, so memory is bounded however long the logs are.
#include "cli/run/follow/log_files.hpp"

#include "base/files/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace osora::cli {
namespace {

constexpr std::string_view kLinesGone = "[osora: lines are gone from here: faults.log_mib]";
constexpr std::size_t kPartialMax = 1 << 16;  // a "line" without an end is cut at this length

/// Progress bars rewrite their line: only the last version counts.
std::string_view shown_part(std::string_view line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    auto const rewritten = line.rfind('\r');
    return rewritten == std::string_view::npos ? line : line.substr(rewritten + 1);
}

}  // namespace

std::vector<int> logged_attempts(protocol::RunPaths const& paths) {
    std::vector<int> attempts;
    std::error_code error;
    std::filesystem::directory_iterator folder(paths.dir / "logs", error);
    for (auto const end = std::filesystem::directory_iterator(); !error && folder != end;
         folder.increment(error)) {
        std::string const name = folder->path().filename();
        int attempt = 0;
        auto const [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), attempt);
        if (bad == std::errc{} && rest == name.data() + name.size()) attempts.push_back(attempt);
    }
    std::ranges::sort(attempts);
    return attempts;
}

std::vector<std::string> last_lines_of(std::string_view text, std::size_t count) {
    std::vector<std::string> lines;
    while (text.ends_with('\n')) text.remove_suffix(1);
    while (!text.empty() && lines.size() < count) {
        auto const begin = text.rfind('\n') + 1;  // 0 when there is none
        lines.emplace_back(shown_part(text.substr(begin)));
        text = text.substr(0, begin == 0 ? 0 : begin - 1);
    }
    std::ranges::reverse(lines);
    return lines;
}

std::vector<std::string> last_lines(std::filesystem::path const& file, std::size_t count) {
    constexpr off_t kBytes = 64 << 10;
    auto const open = open_regular(file);
    if (open.has_error()) return {};
    off_t const end = ::lseek(open->get(), 0, SEEK_END);
    off_t const begin = std::max<off_t>(0, end - kBytes);
    std::string text(static_cast<std::size_t>(std::max<off_t>(end - begin, 0)), '\0');
    ssize_t const got = ::pread(open->get(), text.data(), text.size(), begin);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (begin > 0) text.erase(0, text.find('\n') + 1);  // rest of a line that was cut
    return last_lines_of(text, count);
}

std::string silent_ranks_text(protocol::RunPaths const& paths, int attempt,
                              SilentRanks const& silent) {
    std::string text;
    auto const add = [&](std::vector<int> const& ranks, std::string_view one,
                         std::string_view several) {
        if (ranks.empty()) return;
        bool const is_one = ranks.size() == 1;
        auto file = paths.rank_log(attempt, ranks.front());
        if (!is_one) file.replace_filename("RANK.log");
        text += fmt::format("{}{} {} {} ({})", text.empty() ? "" : "; ", is_one ? "rank" : "ranks",
                            rank_list(ranks), is_one ? one : several, file.string());
    };
    add(silent.empty, "has written nothing", "have written nothing");
    add(silent.missing, "has no log file", "have no log files");
    return text;
}

LogFiles::LogFiles(protocol::RunPaths const& paths, int attempt, std::vector<int> ranks)
    : folder_(static_cast<int>(ranks.size())) {
    for (int const rank : ranks) {
        sources_.push_back(
            {.rank = rank, .file = paths.rank_log(attempt, rank), .open = {}, .partial = {}});
    }
}

bool LogFiles::any_open() const {
    return std::ranges::any_of(sources_, [](Source const& each) { return each.open.is_open(); });
}

SilentRanks LogFiles::silent() const {
    SilentRanks ranks;
    for (Source const& each : sources_) {
        if (each.silent) (each.open.is_open() ? ranks.empty : ranks.missing).push_back(each.rank);
    }
    return ranks;
}

void LogFiles::take_lines(std::size_t index, Source& source) {
    int const slot = static_cast<int>(index);
    std::size_t begin = 0;
    while (!folder_.is_full(slot)) {
        auto const end = source.partial.find('\n', begin);
        if (end == std::string::npos) break;
        folder_.add(slot, shown_part(std::string_view(source.partial).substr(begin, end - begin)));
        begin = end + 1;
    }
    source.partial.erase(0, begin);
    bool const endless =
        source.partial.size() > kPartialMax && source.partial.find('\n') == std::string::npos;
    if (endless && !folder_.is_full(slot)) {
        folder_.add(slot, shown_part(source.partial));
        source.partial.clear();
    }
}

/// A log that was limited to faults.log_mib has a hole in its middle.
void LogFiles::pass_hole(std::size_t index, Source& source) {
    off_t const at = ::lseek(source.open.get(), 0, SEEK_CUR);
    off_t const data = ::lseek(source.open.get(), at, SEEK_DATA);
    if (data < 0) ::lseek(source.open.get(), at, SEEK_SET);
    if (data <= at) return;
    source.partial.clear();
    source.cut = true;
    folder_.add(static_cast<int>(index), kLinesGone);
}

void LogFiles::append(Source& source, std::string_view bytes) {
    if (source.cut) {
        auto const end = bytes.find('\n');
        if (end == std::string_view::npos) return;
        bytes.remove_prefix(end + 1);
        source.cut = false;
    }
    source.partial.append(bytes);
}

void LogFiles::fill(std::size_t index, bool last) {
    Source& source = sources_[index];
    int const slot = static_cast<int>(index);
    if (!source.open.is_open()) {
        if (auto opened = open_regular(source.file)) source.open = std::move(*opened);
    }
    source.dry = !source.open.is_open();
    std::array<char, 1 << 14> buffer{};
    take_lines(index, source);
    while (!source.dry && !folder_.is_full(slot)) {
        pass_hole(index, source);
        ssize_t const got = ::read(source.open.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            source.dry = true;
            break;
        }
        source.silent = false;
        append(source, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
        take_lines(index, source);
    }
    if (last && source.dry && !source.partial.empty() && !folder_.is_full(slot)) {
        folder_.add(slot, shown_part(source.partial));
        source.partial.clear();
    }
}

void LogFiles::drain(bool last, ShowLine const& show) {
    while (true) {
        for (std::size_t i = 0; i < sources_.size(); ++i) fill(i, last);
        FoldedLine line;
        if (!folder_.next(line)) return;
        for (int& each : line.ranks) each = sources_[static_cast<std::size_t>(each)].rank;
        show(line);
    }
}

}  // namespace osora::cli
