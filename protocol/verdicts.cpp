// The verdict table, and the sentences that describe a cause.
#include "protocol/verdicts.hpp"

#include "protocol/gpu_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <span>
#include <string_view>

namespace osora::protocol {
namespace {

struct Row {
    int exit_code;
    FailureClass failure_class;
    std::string_view name;
};

constexpr std::array kRows{
    Row{kExitOk, {Verdict::app_bug, false}, "before it had finished"},
    Row{kExitComm, {Verdict::comm, true, true}, "communication"},
    Row{kExitRefused, {Verdict::oom, false}, "refused: it would run out of memory"},
    Row{kExitOutOfMemory, {Verdict::oom, false}, "out of GPU memory"},
    Row{kExitData, {Verdict::data, false}, "data"},
    Row{kExitConfiguration, {Verdict::app_bug, false}, "configuration"},
    Row{kExitCheckFailed, {Verdict::app_bug, false}, "a check failed, or LibTorch"},
    Row{kExitEndedByController, {Verdict::node_fault, true, true}, "ended by its agent"},
    Row{kExitGpu, {Verdict::app_bug, true}, "its GPU failed"},
    Row{kExitDoNotRequeue, {Verdict::app_bug, false, false, true}, "do not requeue"},
};
constexpr std::array kExecRows{
    Row{kExitDoNotRequeue, {Verdict::app_bug, false, false, true}, "do not requeue"},
    Row{126, {Verdict::app_bug, false}, "the command could not be run"},
    Row{127, {Verdict::app_bug, false}, "the command was not found"},
};

template <class Rows>
Row const* find_row(Rows const& rows, int exit_code) {
    for (Row const& row : rows) {
        if (row.exit_code == exit_code) return &row;
    }
    return nullptr;
}

Row const* row_of(int exit_code, bool exec) {
    return exec ? find_row(kExecRows, exit_code) : find_row(kRows, exit_code);
}

/// Signals that a program raises itself: a crash, not an order from outside.
bool is_crash(int signal) {
    return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
           signal == SIGILL || signal == SIGTRAP || signal == SIGSYS;
}

/// Whether the rank may have ended because of its GPU; its output then names the failure.
bool may_be_of_gpu(RankFailed const& failed, bool exec) {
    if (failed.signal != 0) return is_crash(failed.signal);
    int const code = failed.exit_code;
    if (exec) return code != kExitOk && find_row(kExecRows, code) == nullptr;
    return code == kExitGpu || code == kExitComm || code == kExitCheckFailed;
}

bool mentions(std::string_view text, std::span<std::string_view const> phrases) {
    auto const same = [](unsigned char a, unsigned char b) {
        return std::tolower(a) == std::tolower(b);
    };
    return std::ranges::any_of(phrases, [&](std::string_view phrase) {
        return !std::ranges::search(text, phrase, same).empty();
    });
}

/// In the words of Gloo, c10d and NCCL (ncclGetErrorString, ncclGetLastError).
bool lost_a_peer(RankFailed const& failed) {
    constexpr std::array<std::string_view, 11> kLostPeer{"connection closed by peer",
                                                         "connection closed by remote peer",
                                                         "connection reset by peer",
                                                         "connection refused",
                                                         "broken pipe",
                                                         "socket timeout",
                                                         "communicator was aborted",
                                                         "remote process exited",
                                                         "remote process exiting",
                                                         "failed to recv, got 0 bytes",
                                                         "did the remote server shutdown"};
    return mentions(failed.message, kLostPeer);
}

FailureClass classify_program_failure(RankFailed const& failed) {
    constexpr std::array<std::string_view, 2> kTaken{"address already in use", "eaddrinuse"};
    if (mentions(failed.message, kTaken)) {
        return {.verdict = Verdict::comm, .retry = true, .costs_no_restart = true};
    }
    bool const secondary = failed.message.empty() || lost_a_peer(failed);
    return {Verdict::app_bug, true, secondary};
}

}  // namespace

FailureClass classify_failure(RankFailed const& failed, bool exec) {
    if (failed.oom_killed) return {Verdict::oom, false};
    if (may_be_of_gpu(failed, exec) && !hardware_fault_of(failed).empty()) {
        return {.verdict = Verdict::node_fault, .retry = true, .blames_host = true};
    }
    if (failed.signal != 0) {
        // The machine may have caused a crash: it is retried, but if it recurs the program is at
        // fault.
        bool const crashed = is_crash(failed.signal);
        bool const secondary = exec && failed.signal == SIGABRT && lost_a_peer(failed);
        return {crashed ? Verdict::app_bug : Verdict::node_fault, true, secondary};
    }
    if (Row const* row = row_of(failed.exit_code, exec)) return row->failure_class;
    if (exec) return classify_program_failure(failed);
    return {Verdict::app_bug, false};
}

std::string describe(RankFailed const& failed, bool exec) {
    std::string text = fmt::format("rank {} on node {} ", failed.rank, failed.node);
    if (failed.oom_killed && failed.signal == 0) {
        text += fmt::format("exited with {}: the kernel killed a process of it, out of memory",
                            failed.exit_code);
    } else if (failed.oom_killed) {
        text += "was killed by the kernel: out of memory";
    } else if (failed.signal != 0) {
        text += fmt::format("was killed by signal {}", failed.signal);
    } else if (failed.exit_code == kExitOk) {
        text += "exited before it had finished";
    } else {
        text += fmt::format("exited with {}", failed.exit_code);
        if (Row const* row = row_of(failed.exit_code, exec))
            text += fmt::format(" ({})", row->name);
    }
    return failed.message.empty() ? text : text + ": " + failed.message;
}

std::string describe(NodeLost const& lost) {
    if (lost.why == kFellSilent) {
        return fmt::format("node {} fell silent for {:.1f} s", lost.node, lost.silent_s);
    }
    return fmt::format("node {} was lost: {}", lost.node, lost.why);
}

std::string describe(HangDetected const& hang) {
    std::string text =
        fmt::format("rank {} on node {} made no progress for {:.0f} s in phase '{}'", hang.rank,
                    hang.node, hang.silent_s, boost::describe::enum_to_string(hang.phase, "?"));
    if (hang.step >= 0) text += fmt::format(" after step {}", hang.step);
    if (!hang.detail.empty()) text += ": it " + hang.detail;
    if (hang.waiting > 0) {
        text += fmt::format("; {} rank{} for it", hang.waiting,
                            hang.waiting == 1 ? " waits" : "s wait");
    }
    return text;
}

int exit_code_of(FailureClass const& failure_class) {
    if (failure_class.do_not_requeue) return kExitDoNotRequeue;
    switch (failure_class.verdict) {
        case Verdict::ok:
            return 0;
        case Verdict::cancelled:
            return 130;
        case Verdict::internal:
            return 5;
        default:
            return 1;
    }
}

}  // namespace osora::protocol
