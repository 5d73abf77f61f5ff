#include "cli/command/explanations.hpp"

#include "base/text/text.hpp"
#include "cli/command/explanations_internal.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace osora::cli {
namespace {

using protocol::Verdict;

/// Of a program at fault: a signal is then one that it raised itself (protocol/verdicts).
std::string_view of_rank(protocol::RankEnd const& end, bool exec) {
    if (end.oom_killed) return "E-killed";
    if (end.signal != 0) return "E-crash";
    if (end.exit_code == protocol::kExitDoNotRequeue) return "E-stopped";
    if (exec) return "E-program";
    if (end.exit_code == 0) return "E-early-exit";
    for (Explanation const& each : explanations()) {
        if (each.worker_exit_code == end.exit_code) return each.id;
    }
    return "E-internal";
}

}  // namespace

std::span<Explanation const> explanations() {
    static std::vector<Explanation> const all = [] {
        std::vector<Explanation> merged;
        for (auto const& table : {run_explanations(), command_explanations(), clip_explanations()})
            merged.insert(merged.end(), table.begin(), table.end());
        std::ranges::sort(merged, {}, &Explanation::id);
        return merged;
    }();
    return all;
}

Explanation const* find_explanation(std::string_view wanted) {
    std::string name = lower(wanted);
    std::ranges::replace(name, '_', '-');  // osora data check writes too_large
    if (name.starts_with("e-")) name.erase(0, 2);
    for (Explanation const& each : explanations()) {
        if (lower(each.id.substr(2)) == name) return &each;
        if (each.worker_exit_code != 0 && std::to_string(each.worker_exit_code) == name) {
            return &each;
        }
    }
    return nullptr;
}

std::string_view explanation_of(protocol::RunView const& view) {
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
            if (known && first->second.signal != 0) return "E-killed";
            return known && first->second.exit_code == protocol::kExitEndedByController ? "E-ended"
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

std::string_view explanation_of(Errc code) {
    switch (code) {
        case Errc::out_of_memory:
            return "E-does-not-fit";
        case Errc::out_of_space:
            return "E-disk";
        case Errc::unreachable:
        case Errc::timed_out:
            return "E-unreachable";
        case Errc::corrupt:
            return "E-corrupt";
        case Errc::busy:
            return "E-busy";
        case Errc::io:
            return "E-io";
        case Errc::invalid_input:
        case Errc::not_divisible:
        case Errc::not_found:
        case Errc::cancelled:
            return "";  // the message says all
    }
    return "";
}

}  // namespace osora::cli
