// Collectives that timed out, as PyTorch's watchdogs tell it: which ranks waited, and which one
// did not come. A watchdog knows its own rank only; compared, they show who is behind.
#include "topology/doctor/rules_internal.hpp"

#include "base/text/text.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"
#include "topology/xid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace osora::topology::doctor {
namespace {

using Ranks = std::set<int>;

/// "0-6,8"
std::string ranks_text(Ranks const& ranks) {
    std::string text;
    for (auto at = ranks.begin(); at != ranks.end();) {
        int const first = *at;
        int last = first;
        while (++at != ranks.end() && *at == last + 1) last = *at;
        text += text.empty() ? "" : ",";
        text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    }
    return text;
}

std::string named(Ranks const& ranks) {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", ranks_text(ranks));
}

/// The watchdogs of all nodes as one job.
struct Job {
    Watchdogs ranks;
    std::string group;         // that timed out on most ranks; "" = not written
    std::int64_t number = -1;  // of the last collective that timed out in it
    Ranks timed_out;           // in it, at any number
    std::map<int, std::string> node_of;
};

std::string group_of_most(Watchdogs const& ranks) {
    std::map<std::string, int> counts;
    for (auto const& [rank, each] : ranks) {
        for (auto const& [group, progress] : each.groups) {
            if (progress.timed_out >= 0) ++counts[group];
        }
    }
    auto const most =
        std::ranges::max_element(counts, {}, [](auto const& each) { return each.second; });
    return most == counts.end() ? "" : most->first;
}

/// Whether a process group, "0(default_pg)", has all ranks.
bool has_all_ranks(std::string const& group) {
    return group == "0" || group.starts_with("0(") || group.starts_with("0 ");
}

/// Nothing in the log names a host: it is of the node whose name its file has.
bool is_of_one_node(NcclLog const& log) {
    // PyTorch writes these, without a host.
    std::set<LogTrouble> const anonymous{LogTrouble::cuda_error, LogTrouble::heartbeat,
                                         LogTrouble::no_id};
    bool const named = std::ranges::any_of(
        log.troubles, [&](auto const& each) { return !anonymous.contains(each.first); });
    return !named && log.bootstrap_interface.empty() && log.networks.empty() &&
           log.members.empty() && log.warnings.empty();
}

/// The nodes of ranks: where NCCL's lines of the largest communicator name them, else whose log has
/// the watchdog's lines. Those name no host: in a log of several hosts they are nobody's.
std::map<int, std::string> nodes_of_ranks(Evidence const& evidence) {
    int world = 0, last = -1;
    bool apart = true, once = true;
    for (auto const& node : evidence.nodes) {
        if (!node.log.members.empty()) world = std::max(world, node.log.members.rbegin()->first);
        if (!node.log.watchdogs.empty()) last = std::max(last, node.log.watchdogs.rbegin()->first);
        apart = apart && is_of_one_node(node.log);
    }
    std::map<int, std::string> names;
    auto const note = [&](int rank, std::string const& node) {
        once = names.emplace(rank, node).second && once;
    };
    for (auto const& node : evidence.nodes) {
        auto const members = node.log.members.find(world);
        if (world > 0 && members != node.log.members.end()) {
            for (int const rank : members->second) note(rank, node.name);
        }
        for (auto const& [rank, each] : node.log.watchdogs) {
            if (world == 0 && apart) note(rank, node.name);
        }
    }
    // Communicators of groups count ranks of their own.
    bool const of_groups = world > 0 && last >= world;
    if (!once || of_groups) names.clear();
    return names;
}

/// What two logs have of one rank: beside lines of several hosts a watchdog's own lines may be
/// taken for those of any.
WatchdogRank joined(WatchdogRank first, WatchdogRank const& second) {
    auto const fill = [](std::int64_t& into, std::int64_t number) {
        if (into < 0) into = number;
    };
    for (auto const& [group, progress] : second.groups) {
        GroupProgress& into = first.groups[group];
        fill(into.timed_out, progress.timed_out);
        fill(into.enqueued, progress.enqueued);
        fill(into.completed, progress.completed);
    }
    if (first.number >= 0) return first;
    WatchdogRank whole = second;
    whole.groups = std::move(first.groups);
    return whole;
}

/// The number of the group's collective that timed out on a rank; -1: none. A rank that names no
/// group waited in this one.
std::int64_t timed_out_at(WatchdogRank const& rank, std::string const& group) {
    auto const progress = rank.groups.find(group);
    if (progress != rank.groups.end() && progress->second.timed_out >= 0) {
        return progress->second.timed_out;
    }
    bool const in_another = std::ranges::any_of(
        rank.groups, [](auto const& each) { return each.second.timed_out >= 0; });
    return in_another ? -1 : rank.number;
}

Job job_of(Evidence const& evidence) {
    Job job;
    for (auto const& node : evidence.nodes) {
        for (auto const& [rank, each] : node.log.watchdogs) {
            WatchdogRank& known = job.ranks[rank];
            known = joined(known, each);
        }
    }
    job.group = group_of_most(job.ranks);
    for (auto const& [rank, each] : job.ranks) {
        auto const number = timed_out_at(each, job.group);
        if (number < 0) continue;
        job.timed_out.insert(rank);
        job.number = std::max(job.number, number);
    }
    job.node_of = nodes_of_ranks(evidence);
    return job;
}

template <class IsIt>
Ranks ranks_that(Job const& job, IsIt const& is_it) {
    Ranks found;
    for (auto const& [rank, each] : job.ranks) {
        auto const progress = each.groups.find(job.group);
        if (progress != each.groups.end() && is_it(progress->second)) found.insert(rank);
    }
    return found;
}

/// Before PyTorch 2.5 several groups may have the same number: " in process group 1, if ...".
std::string group_text(std::string const& group) {
    if (group.empty()) return {};
    bool const may_be_several =
        group != "0" && group.find_first_not_of("0123456789") == std::string::npos;
    return fmt::format(" in process group {}{}", group,
                       may_be_several ? ", if they are all in one" : "");
}

/// Ranks between the first and the last one that wrote nothing, if they are few. They may be no
/// members of a smaller group.
Ranks silent_ranks(Job const& job) {
    if (!job.group.empty() && !has_all_ranks(job.group)) return {};
    Ranks silent;
    int const first = job.ranks.begin()->first, most = job.ranks.rbegin()->first;
    for (int rank = first; rank <= most && silent.size() <= job.ranks.size(); ++rank) {
        if (!job.ranks.contains(rank)) silent.insert(rank);
    }
    return silent.size() < job.ranks.size() ? silent : Ranks{};
}

/// "ALLREDUCE of 9801523 on ranks 0-6; BROADCAST of 1 on rank 7": what ranks called as the same
/// number; "" = the same.
std::string different_calls(Job const& job) {
    std::map<std::string, Ranks> calls;
    for (int const rank : job.timed_out) {
        auto const& each = job.ranks.at(rank);
        if (each.number != job.number || each.operation.empty()) continue;
        // Sizes of others differ over ranks: GATHER, SEND.
        bool const same_size = each.operation == "ALLREDUCE" || each.operation == "BROADCAST" ||
                               each.operation == "_ALLGATHER_BASE" ||
                               each.operation == "_REDUCE_SCATTER_BASE";
        bool const sized = same_size && each.elements >= 0;
        calls[sized ? fmt::format("{} of {}", each.operation, each.elements) : each.operation]
            .insert(rank);
    }
    if (calls.size() < 2) return {};
    std::string text;
    for (auto const& [call, ranks] : calls) {
        text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", call, named(ranks));
    }
    return text;
}

std::vector<std::string> nodes_of(Job const& job, Ranks const& ranks) {
    std::vector<std::string> names;
    for (int const rank : ranks) {
        auto const node = job.node_of.find(rank);
        if (node != job.node_of.end()) names.push_back(node->second);
    }
    return names;
}

/// Who is behind, and what to do about it.
struct Verdict {
    Ranks behind;
    std::string seen, fix;
};

Verdict verdict_of(Job const& job) {
    // One that waits in an earlier collective has not called this one either.
    auto const waits_earlier = [&](GroupProgress const& each) {
        return each.timed_out >= 0 && each.timed_out < job.number;
    };
    auto const late = ranks_that(job, [&](GroupProgress const& each) {
        return each.enqueued >= 0 && each.enqueued < job.number && !waits_earlier(each);
    });
    if (!late.empty()) {
        return {late, fmt::format("{} never called it", named(late)),
                fmt::format("see in the own log of {} what it did instead (an exception, data, a "
                            "checkpoint, another branch): the others only waited for it",
                            named(late))};
    }
    if (auto const calls = different_calls(job); !calls.empty()) {
        return {{},
                "ranks called different collectives: " + calls,
                "the program must call the same collectives in the same order on all ranks: look "
                "for a branch, a loop or a batch that depends on the rank"};
    }
    auto const stuck = ranks_that(job, waits_earlier);
    if (!stuck.empty()) {
        return {stuck,
                fmt::format("{} did not finish an earlier one that others finished", named(stuck)),
                fmt::format("look at GPU and NIC of {}: dmesg (Xid), link counters", named(stuck))};
    }
    if (auto const silent = silent_ranks(job); !silent.empty()) {
        return {silent, fmt::format("{} wrote nothing", named(silent)),
                fmt::format("see in the own log of {} where it ended or hangs; the others wait for "
                            "it",
                            named(silent))};
    }
    return {{},
            "every rank that wrote is in it",
            "look for a rank whose log has no such line, then at GPUs and network: dmesg (Xid), "
            "link counters"};
}

void add_timeout(Job const& job, Outcome& outcome) {
    auto const& first = job.ranks.at(*job.timed_out.begin());
    auto const at = std::ranges::find_if(
        job.timed_out, [&](int rank) { return job.ranks.at(rank).number == job.number; });
    auto const& one = at == job.timed_out.end() ? first : job.ranks.at(*at);
    auto const verdict = verdict_of(job);
    std::string const waited =
        one.waited_s > 0 ? fmt::format("after {:.0f} s{}; ", one.waited_s, group_text(job.group))
                         : "";
    outcome.findings.push_back(
        {.severity = Severity::fault,
         .nodes = nodes_of(job, verdict.behind),
         .title = fmt::format("Collective {}{} timed out on {}", job.number,
                              one.operation.empty() ? "" : " (" + one.operation + ")",
                              named(job.timed_out)),
         .seen = waited + verdict.seen,
         .effect = "the run ends",
         .fix = verdict.fix,
         .impact = 0.95});
}

/// Nodes whose broken GPU the kernel's log names.
std::set<std::string> nodes_with_fatal_xids(Evidence const& evidence) {
    std::set<std::string> names;
    for (auto const& node : evidence.nodes) {
        for (auto const& gpu : node.gpus) {
            bool const is_fatal =
                !gpu.fatal_event.empty() || std::ranges::any_of(gpu.xids, is_fatal_xid);
            if (is_fatal) names.insert(node.name);
        }
    }
    return names;
}

std::string cuda_fix(bool broken) {
    if (broken) {
        return fmt::format("exclude its node {}; dmesg (Xid) names the GPU: reset or replace it",
                           kExclude);
    }
    return "see the first error in the rank's own log; CUDA_LAUNCH_BLOCKING=1 names the kernel "
           "that failed. When it fails on one node alone: dmesg (Xid), exclude it";
}

/// Errors of CUDA that ended watchdogs: a kernel failed, and the other ranks wait for this one.
/// Where the kernel's log or NCCL names the broken GPU's node, that is the better finding.
void add_cuda_errors(Evidence const& evidence, Job const& job, Outcome& outcome) {
    auto const fatal = nodes_with_fatal_xids(evidence);
    bool const of_nccl = any_trouble(evidence, LogTrouble::gpu_broken);
    bool const apart = std::ranges::all_of(
        evidence.nodes, [](auto const& node) { return is_of_one_node(node.log); });
    for (auto const& node : evidence.nodes) {
        auto const found = node.log.troubles.find(LogTrouble::cuda_error);
        if (found == node.log.troubles.end()) continue;
        std::string_view const line = found->second;
        bool const broken = line.find("uncorrectable") != line.npos;
        auto const of_job = after(line, "[rank");  // "Rank 2]" is that of the process group
        auto const text = of_job ? of_job : after(line, "Rank ");
        auto const rank = text ? leading_number<int>(*text) : std::nullopt;
        Finding finding{.severity = Severity::fault,
                        .title = fmt::format("CUDA failed on {}: {}",
                                             rank ? fmt::format("rank {}", *rank) : "a rank",
                                             after(line, "CUDA error: ").value_or("")),
                        .seen = "log: " + found->second,
                        .effect = "the run ends; other ranks only waited for this one",
                        .fix = cuda_fix(broken),
                        .impact = 1};
        auto const known = rank ? job.node_of.find(*rank) : job.node_of.end();
        if (known != job.node_of.end()) {
            finding.nodes = {known->second};
        } else if (evidence.nodes.size() == 1 || apart) {
            finding.nodes = {node.name};
        }
        bool const by_kernel =
            finding.nodes.empty() ? !fatal.empty() : fatal.contains(finding.nodes.front());
        if (broken && (of_nccl || by_kernel)) continue;
        outcome.findings.push_back(std::move(finding));
    }
}

}  // namespace

Outcome check_collective_timeout(Evidence const& evidence) {
    if (!any_log(evidence)) return skip("no NCCL log");
    Outcome outcome;
    find_trouble(outcome, evidence, LogTrouble::mismatch,
                 {.severity = Severity::fault,
                  .title = "Ranks called different collectives, or with different sizes",
                  .effect = "the run fails or hangs",
                  .fix = "the program must call the same collectives in the same order on all "
                         "ranks; compare NCCL_ALGO, NCCL_PROTO and NCCL's version over the nodes",
                  .impact = 1});
    auto const job = job_of(evidence);
    add_cuda_errors(evidence, job, outcome);
    if (!job.timed_out.empty()) add_timeout(job, outcome);
    if (!outcome.findings.empty()) return outcome;
    find_trouble(
        outcome, evidence, LogTrouble::heartbeat,
        {.severity = Severity::fault,
         .title = "A rank's watchdog was blocked: a call of CUDA or NCCL does not return",
         .effect = "PyTorch ends the rank",
         .fix = "look at its GPU (dmesg: Xid) and at what holds Python's lock (py-spy dump); "
                "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC gives it more time",
         .impact = 0.9});
    return outcome;
}

}  // namespace osora::topology::doctor
