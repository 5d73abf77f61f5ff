#include "topology/doctor/log/last_error.hpp"

#include "base/text/text.hpp"

#include <algorithm>
#include <utility>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

constexpr View kLastError = "Last error:";

/// "ncclSystemError: System call (e.g. socket, malloc) or external library call failed": PyTorch
/// writes it before the last error.
bool names_result(View line) {
    for (View const each : {"ncclUnhandledCudaError:", "ncclSystemError:", "ncclInternalError:",
                            "ncclInvalidArgument:", "ncclInvalidUsage:", "ncclRemoteError:"}) {
        if (line.find(each) != View::npos) return true;
    }
    return false;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Whether a launcher wrote the same in front of both lines; times in it differ by their digits.
bool has_prefix(View line, View prefix) {
    if (line.starts_with(prefix)) return true;
    constexpr std::ptrdiff_t kDigitsOfATime = 8;
    bool const timed = std::ranges::count_if(prefix, is_digit) >= kDigitsOfATime;
    return timed && line.size() >= prefix.size() &&
           std::ranges::equal(prefix, line.substr(0, prefix.size()), [](char a, char b) {
               return a == b || (is_digit(a) && is_digit(b));
           });
}

/// NCCL had no warning to repeat: PyTorch's own lines follow.
bool is_of_pytorch(View words) {
    for (View const each : {"Exception raised from", "frame #", "Traceback", "File \""}) {
        if (words.starts_with(each)) return true;
    }
    return words.empty() || names_result(words);
}

/// A text printed as a Python string has "\n" in it, and ends with its quote and ")".
View first_line(View words) {
    while (words.starts_with("\\n")) words.remove_prefix(2);
    words = words.substr(0, words.find("\\n"));
    if (words.ends_with("')") || words.ends_with("\")")) words.remove_suffix(2);
    return trimmed(words);
}

class Rewriter {
public:
    void take(View line) {
        out_.append(line) += '\n';
        if (line.starts_with('{')) return;  // JSON of Docker and log collectors
        if (names_result(line)) results_left_ = kLines;
        std::size_t const at = line.find(kLastError);
        if (at != View::npos && results_left_ > 0) {
            prefix_ = line.substr(0, at);
            View const words = first_line(line.substr(at + kLastError.size()));
            lines_left_ = words.empty() ? kLines : 0;
            if (!words.empty()) add("", words);
        } else if (lines_left_ > 0) {
            --lines_left_;
            if (has_prefix(line, prefix_)) {
                lines_left_ = 0;
                add(line.substr(0, prefix_.size()), trimmed(line.substr(prefix_.size())));
            }
        }
        --results_left_;
    }

    std::string finish() { return found_ ? std::move(out_) : std::string(); }

private:
    static constexpr int kLines = 8;  // lines of other ranks may come between

    void add(View prefix, View words) {
        if (is_of_pytorch(words)) return;
        out_.append(prefix).append("NCCL WARN ").append(words) += '\n';
        found_ = true;
    }

    std::string out_, prefix_;
    int results_left_ = 0, lines_left_ = 0;
    bool found_ = false;
};

}  // namespace

std::string with_last_errors(View text) {
    bool const of_nccl = text.find("NCCL WARN ") != View::npos;
    if (of_nccl || text.find(kLastError) == View::npos) return {};
    Rewriter rewriter;
    each_line(text, [&](View line) { rewriter.take(line); });
    return rewriter.finish();
}

}  // namespace osora::topology::doctor
