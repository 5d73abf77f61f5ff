// A traceback ends with its exception, but finalizers, launchers and runtimes print more after it:
// each line is judged, and the last one that names a cause is taken.
#include "daemon/agent/last_line.hpp"

#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "daemon/steps/step_text.hpp"
#include "protocol/verdicts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <utility>
#include <vector>

namespace osora::daemon {
namespace {

constexpr std::size_t kLinesSearched = 30;         // of plain text, from the end
constexpr std::size_t kLinesBeforeLauncher = 100;  // it only says that a process failed
constexpr std::size_t kShownMax = 300;
constexpr std::string_view kTraceback = "Traceback (most recent call last)";
constexpr std::string_view kDeviceAssert = "device-side assert triggered";

enum class Says {
    text,
    noise,        // frames, source lines, hints: never the reason
    consequence,  // of a failure that an earlier line names, if there is one
    cause,
};
struct JudgedLine {
    std::string_view text;
    Says says = Says::text;
};

bool has_part(std::string_view line, std::string_view part) {
    return line.find(part) != std::string_view::npos;
}

template <std::size_t N>
bool has_one_of(std::string_view line, std::array<std::string_view, N> const& parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return has_part(line, part); });
}

/// PyTorch puts "[rank1]: " in front of every line of a traceback, torchrun "[default1]:"; the rank
/// is already known. The indentation stays.
std::string_view without_rank(std::string_view line) {
    constexpr std::string_view kDigits = "0123456789";
    auto const end = line.find("]:");
    if (!line.starts_with('[') || end == std::string_view::npos) return line;
    std::string_view const name = line.substr(1, end - 1);
    auto const digits = std::min(name.find_first_of(kDigits), name.size());
    bool const marked = digits > 0 && digits < name.size() &&
                        name.find_first_not_of(kDigits, digits) == std::string_view::npos &&
                        std::ranges::all_of(name.substr(0, digits),
                                            [](char each) { return each >= 'a' && each <= 'z'; });
    if (!marked) return line;
    line.remove_prefix(end + 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    return line;
}

bool is_word_part(char each) {
    return each == '_' || std::isalnum(static_cast<unsigned char>(each)) != 0;
}

/// "ERROR" as a word, not in "HYDRA_FULL_ERROR=1" or "NCCL_ASYNC_ERROR_HANDLING".
bool shouts_error(std::string_view line) {
    constexpr std::string_view kWord = "ERROR";
    for (auto at = line.find(kWord); at != std::string_view::npos; at = line.find(kWord, at + 1)) {
        auto const after = at + kWord.size();
        bool const begins = at == 0 || !is_word_part(line[at - 1]);
        if (begins && (after == line.size() || !is_word_part(line[after]))) return true;
    }
    return false;
}

bool names_error(std::string_view line) {
    constexpr std::array<std::string_view, 8> kWords{
        "Error:",  "Error(",    "error:",           "Exception",
        "what():", "Assertion", "terminate called", "CUDA_ERROR_"};
    return has_one_of(line, kWords) || shouts_error(line);
}

/// "ValueError: 3 is not 4", "queue.Empty"
bool is_exception(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() && (is_word_part(text[end]) || text[end] == '.')) ++end;
    return end > 0 && (end == text.size() || text[end] == ':');
}

/// A failure beside the program's own: in a finalizer, a thread, or while the interpreter ends.
bool begins_aside(std::string_view text) {
    constexpr std::array<std::string_view, 4> kAsides{
        "Exception ignored in", "Error in atexit._run_exitfuncs", "Error in sys.excepthook",
        "--- Logging error ---"};
    bool const of_thread = has_part(text, "Exception in thread ") && text.ends_with(':');
    return of_thread || has_one_of(text, kAsides);
}

/// What torchrun, accelerate, DeepSpeed, conda and srun say about a process that has failed.
bool is_of_launcher(std::string_view text) {
    constexpr std::array<std::string_view, 6> kLaunchers{
        "ChildFailedError",   "exits with return code",    "failed (exitcode:",
        "conda.cli.main_run", "SignalException: Process ", ") received by PID "};
    if (has_one_of(text, kLaunchers)) return true;
    if (has_part(text, "CalledProcessError: Command ")) return has_part(text, "python");
    return has_part(text, "srun: error: ") && has_part(text, "Exited with exit code");
}

bool is_consequence(std::string_view text) {
    if (tells_of_kill(text)) return false;  // such a process could not say more
    bool const of_loader =
        has_part(text, "DataLoader worker (pid") && has_part(text, "exited unexpectedly");
    bool const of_queue =
        text == "_queue.Empty" || text == "queue.Empty";  // what a loader waits in
    // torch.save() closes a file that it could not write.
    bool const of_file = has_part(text, "inline_container.cc") && has_part(text, "unexpected pos ");
    return of_loader || of_queue || of_file || has_part(text, kDeviceAssert) ||
           has_part(text, "Fatal Python error: Aborted") || is_of_launcher(text);
}

bool is_noise(std::string_view text) {
    constexpr std::array<std::string_view, 7> kParts{"frame #",
                                                     "Exception raised from",
                                                     "Warning:",
                                                     "WARNING",
                                                     "To enable traceback",
                                                     "terminated with the following error:",
                                                     "Failed to send MESSAGE_TASK_EXIT"};
    // Rich's box around a traceback, and the rows of torchrun's summary.
    constexpr std::array<std::string_view, 7> kStarts{
        "\xe2\x94\x82", "wandb:",      "time      :", "host      :",
        "rank      :",  "exitcode  :", "error_file:"};
    bool const warns = text.starts_with("[W") && text.size() > 2 &&
                       (text[2] == ' ' || (text[2] >= '0' && text[2] <= '9'));
    return warns || text == "Last error:" || has_one_of(text, kParts) ||
           std::ranges::any_of(kStarts, [&](auto start) { return text.starts_with(start); });
}

/// Judges lines from the first to the last.
class LineJudge {
public:
    void take(std::string_view raw) {
        std::string_view const line = without_rank(without_rank(raw));
        std::string_view const text = trimmed(line);
        if (text.empty()) {
            after_last_error_ = false;
        } else if (has_part(text, kTraceback) || !is_step(text)) {
            lines_.push_back({text, judge(text, line.find_first_not_of(" \t"))});
        }
    }
    [[nodiscard]] std::vector<JudgedLine> const& lines() const { return lines_; }

private:
    /// "RuntimeError: NaN at step 12: loss=nan" is the end of a traceback, not a step.
    [[nodiscard]] bool is_step(std::string_view text) const {
        return !(in_traceback_ && names_error(text)) && find_step(text);
    }
    Says judge(std::string_view text, std::size_t indent) {
        bool const nccl_says = std::exchange(after_last_error_, text == "Last error:");
        if (has_part(text, kTraceback)) {
            in_traceback_ = true;
            indent_ = indent;
            return Says::noise;
        }
        if (in_traceback_ && indent > indent_) return Says::noise;
        bool const ends_traceback = std::exchange(in_traceback_, false);
        if (begins_aside(text)) {
            aside_ = kAsideLines;
            return Says::noise;
        }
        if (is_exception(text) && (ends_traceback || aside_ > 0)) {
            bool const aside = std::exchange(aside_, 0) > 0;
            return aside || is_consequence(text) ? Says::consequence : Says::cause;
        }
        if (aside_ > 0) --aside_;
        if (nccl_says) return Says::cause;
        if (is_noise(text)) return Says::noise;
        if (is_consequence(text)) return Says::consequence;
        return names_error(text) || tells_of_kill(text) ? Says::cause : Says::text;
    }

    static constexpr int kAsideLines = 2;  // "Exception ignored in:", "<function ...>", a traceback
    std::vector<JudgedLine> lines_;
    bool in_traceback_ = false;
    std::size_t indent_ = 0;         // of the traceback's first line: its frames are deeper
    int aside_ = 0;                  // lines until something aside no longer counts as begun
    bool after_last_error_ = false;  // NCCL's reason is in the next line
};

bool lost_its_peers(std::string_view text) {
    protocol::RankFailed failed;
    failed.exit_code = 1;
    failed.message = std::string(text);
    return protocol::classify_failure(failed, true).secondary;
}

/// Of two consequences: a launcher that names no signal says less than anything else.
bool says_less(std::string_view known, std::string_view other) {
    if (known.empty() || has_part(known, "ChildFailedError")) return true;
    bool const names_signal = has_part(known, ") received by PID ");
    return is_of_launcher(known) && !names_signal && !is_of_launcher(other);
}

/// The last cause, else the last consequence, else "". In the output of a launcher, ranks that lost
/// a peer print later than that peer; torchrun lists the first failure last.
std::string_view reason_among(std::vector<JudgedLine> const& lines) {
    std::string_view consequence;
    bool launched = false, is_listed = false;
    std::size_t left = kLinesSearched;
    for (auto line = lines.rbegin(); line != lines.rend() && left > 0; ++line) {
        if (line->says == Says::text) --left;
        is_listed = is_listed || has_part(line->text, "Root Cause (first observed failure)");
        if (is_listed && has_part(line->text, ") received by PID ")) continue;
        if (line->says == Says::text || line->says == Says::noise) continue;
        bool const is_cause = line->says == Says::cause;
        bool const asserted = has_part(consequence, kDeviceAssert);  // the kernel printed what
        if (is_cause && asserted && !has_part(line->text, "Assertion `")) continue;
        if (is_cause && !(launched && lost_its_peers(line->text))) return line->text;
        if (!launched && is_of_launcher(line->text)) {
            launched = true;
            left = kLinesBeforeLauncher;
        }
        if (says_less(consequence, line->text)) consequence = line->text;
    }
    return consequence;
}

/// A launcher's line ends with what happened, after a long command.
std::string shown_reason(std::string_view text) {
    constexpr std::string_view kGap = " ... ";
    constexpr std::size_t kEnd = 100, kBegin = kShownMax - kEnd - kGap.size();
    if (text.size() <= kShownMax || !is_of_launcher(text)) {
        return printable(text.substr(0, kShownMax), "\n\t");
    }
    return printable(text.substr(0, kBegin), "\n\t") + std::string(kGap) +
           printable(text.substr(text.size() - kEnd), "\n\t");
}

}  // namespace

bool tells_of_kill(std::string_view line) {
    constexpr std::array<std::string_view, 5> kKills{
        "Signal 9 (SIGKILL) received by PID ", "failed (exitcode: -9)",
        "exits with return code = -9", "died with <Signals.SIGKILL", "is killed by signal: Killed"};
    // Bash: "run.sh: line 3: 4121 Killed                  python train.py"
    bool const of_shell = has_part(line, ": line ") && has_part(line, " Killed  ");
    return of_shell || has_one_of(line, kKills);
}

bool ended_by_kill(int exit_code, int signal, std::string_view last_line) {
    constexpr int kOfShell = 128;  // a shell exits with this and the signal of its program
    return signal == SIGKILL || exit_code == kOfShell + SIGKILL || tells_of_kill(last_line);
}

std::string last_line_of(std::string_view tail) {
    LineJudge judge;
    while (!tail.empty()) {
        auto const end = std::min(tail.find_first_of("\r\n"), tail.size());
        judge.take(tail.substr(0, end));
        tail.remove_prefix(std::min(tail.size(), end + (tail.substr(end, 2) == "\r\n" ? 2 : 1)));
    }
    auto const& lines = judge.lines();
    if (lines.empty()) return "";
    auto const reason = reason_among(lines);
    if (!reason.empty()) return shown_reason(reason);
    auto const last = std::find_if(lines.rbegin(), lines.rend(),
                                   [](JudgedLine const& line) { return line.says != Says::noise; });
    return shown_reason(last == lines.rend() ? lines.back().text : last->text);
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
