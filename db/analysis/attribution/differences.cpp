// An item belongs to one launch by its key, or because its value contains the run's own name: a
// value alone never makes an item unimportant.
#include "db/analysis/attribution/differences.hpp"

#include "db/record/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace osora::db::analysis {
namespace {

/// Names of a launch, where it was typed, its rendezvous and its logs.
constexpr std::array<std::string_view, 19> kOfLaunch{
    "run.name",          "train.steps",         "resources.time_limit", "checkpoint.keep",
    "checkpoint.resume", "faults.max_restarts", "faults.step_timeout",  "faults.collective_timeout",
    "faults.lost_after", "faults.lease",        "faults.stacks_limit",  "faults.log_mib",
    "host.name",         "preflight",           "MASTER_ADDR",          "MASTER_PORT",
    "NCCL_COMM_ID",      "NCCL_DEBUG_FILE",     "TORCHELASTIC_RUN_ID"};
/// Notifications, metrics, limits on trials, times of link probes, debug dumps.
constexpr std::array<std::string_view, 5> kOfLaunchPrefixes{"notify.", "daemon.", "bisect.",
                                                            "probe.", "TORCH_NCCL_DEBUG_INFO_"};

/// `text` with every `from` replaced by `to`.
std::string replaced(std::string text, std::string const& from, std::string_view to) {
    if (from.empty()) return text;
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

/// In values, a run's own folder, name and uuid count as equal for all runs.
std::string without_own_names(std::string text, RunRecord const& run) {
    text = replaced(std::move(text), run.run_dir, "RUN_DIR");
    text = replaced(std::move(text), run.name, "RUN");
    return replaced(std::move(text), run.uuid, "UUID");
}

/// Keys of either set with values that differ.
void add_facts(std::string const& kind, Facts const& a, Facts const& b,
               std::vector<Difference>& into) {
    std::set<std::string> keys;
    for (auto const& [key, value] : a) keys.insert(key);
    for (auto const& [key, value] : b) keys.insert(key);
    auto const value_of = [](Facts const& facts, std::string const& key) {
        auto const found = facts.find(key);
        return found == facts.end() ? std::string() : found->second;
    };
    for (auto const& key : keys) {
        if (is_of_launch(key)) continue;
        auto left = value_of(a, key), right = value_of(b, key);
        if (left != right) into.push_back({kind, key, std::move(left), std::move(right)});
    }
}

/// The plan's choices, as facts.
Facts plan_facts(std::optional<PlanRecord> const& plan) {
    if (!plan) return {};
    Facts facts = flatten(protocol::to_json(plan->chosen));
    std::erase_if(facts, [](auto const& fact) { return fact.first.starts_with("buckets"); });
    for (auto const& bucket : plan->chosen.buckets) {
        facts["bucket " + bucket.label()] =
            fmt::format("micro-batch {} x {}", bucket.micro_batch_size, bucket.grad_accum_steps);
    }
    return facts;
}

Facts node_facts(RunSummary const& run) {
    std::set<std::string> hosts;
    for (auto const& node : run.nodes) hosts.insert(node.hostname);
    return {{"nodes", std::to_string(run.run.nodes)},
            {"ranks", std::to_string(run.run.ranks)},
            {"hosts", fmt::format("{}", fmt::join(hosts, " "))},
            {"device", run.device}};
}

}  // namespace

bool is_of_launch(std::string_view key) {
    if (std::ranges::find(kOfLaunch, key) != kOfLaunch.end()) return true;
    return std::ranges::any_of(kOfLaunchPrefixes,
                               [&](auto prefix) { return key.starts_with(prefix); });
}

std::vector<Difference> differences(RunHistory const& a, RunHistory const& b) {
    std::vector<Difference> found;
    auto const own = [](RunHistory const& run, Facts facts) {
        for (auto& [key, value] : facts) {
            value = without_own_names(std::move(value), run.summary.run);
        }
        return facts;
    };
    add_facts("config", own(a, a.config), own(b, b.config), found);
    add_facts("plan", plan_facts(a.summary.plan), plan_facts(b.summary.plan), found);
    add_facts("software", own(a, a.software), own(b, b.software), found);
    add_facts("env", own(a, a.env), own(b, b.env), found);
    add_facts("hardware", own(a, a.hardware), own(b, b.hardware), found);
    add_facts("nodes", node_facts(a.summary), node_facts(b.summary), found);
    return found;
}

}  // namespace osora::db::analysis
