#include "protocol/failure_id.hpp"

#include "protocol/exit_codes.hpp"

#include <array>
#include <utility>

namespace osora::protocol {
namespace {

/// Exit codes of osora-worker; cli/command/run_explanations.cpp has the same.
constexpr std::array<std::pair<int, std::string_view>, 8> kWorkerIds{{
    {kExitComm, "E-comm"},
    {kExitRefused, "E-refused"},
    {kExitOutOfMemory, "E-oom"},
    {kExitData, "E-data"},
    {kExitConfiguration, "E-configuration"},
    {kExitCheckFailed, "E-check"},
    {kExitEndedByController, "E-ended"},
    {kExitGpu, "E-gpu"},
}};

/// Of a program at fault: a signal is then one that it raised itself (protocol/verdicts).
std::string_view of_rank(RankEnd const& end, bool exec) {
    if (end.oom_killed) return "E-killed";
    if (end.signal != 0) return "E-crash";
    if (end.exit_code == kExitDoNotRequeue) return "E-stopped";
    if (exec) return "E-program";
    if (end.exit_code == 0) return "E-early-exit";
    for (auto const& [exit_code, id] : kWorkerIds) {
        if (exit_code == end.exit_code) return id;
    }
    return "E-internal";
}

}  // namespace

std::string_view failure_id(RunView const& view) {
    auto const first = view.first_failures.find(view.status.attempt);
    bool const known = first != view.first_failures.end();
    switch (view.status.verdict) {
        case Verdict::none:
        case Verdict::ok:
            return "";
        case Verdict::oom:
            return known ? of_rank(first->second, view.status.exec) : "E-oom";
        case Verdict::data:
            return "E-data";
        case Verdict::comm:
            return "E-comm";
        case Verdict::node_fault:
            if (known && first->second.blames_host) return "E-gpu";
            if (known && first->second.signal != 0) return "E-killed";
            return known && first->second.exit_code == kExitEndedByController ? "E-ended"
                                                                              : "E-node";
        case Verdict::preempted:
            return "E-preempted";
        case Verdict::timeout:
            return "E-timeout";
        case Verdict::no_progress:
            return "E-hang";
        case Verdict::cancelled:
            return "E-cancelled";
        case Verdict::controller_lost:
            return "E-controller-lost";
        case Verdict::app_bug:
            if (known) return of_rank(first->second, view.status.exec);
            return view.status.exec ? "E-program" : "E-internal";
        case Verdict::internal:
            return "E-internal";
    }
    return "";
}

}  // namespace osora::protocol
