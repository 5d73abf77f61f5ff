// Names, units and help of the metrics. A value that is not known has no sample.
#include "daemon/metrics/run_metrics.hpp"

#include <fmt/format.h>
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::daemon {
namespace {

using protocol::RunState;

constexpr std::array<double, 2> kQuantiles{0.5, 0.9};
constexpr double kMicrosecond_s = 1e-6;

MetricFamily single(std::string name, std::string unit, std::string help, double value) {
    return {.name = std::move(name),
            .type = MetricType::gauge,
            .unit = std::move(unit),
            .help = std::move(help),
            .samples = {{.value = value}}};
}

MetricFamily counter(std::string name, std::string help, double value) {
    auto family = single(std::move(name), "", std::move(help), value);
    family.type = MetricType::counter;
    return family;
}

/// One sample a state: 1 for the one that holds. Its label has the name of the family.
MetricFamily states(std::string name, std::string help, std::vector<std::string> const& all,
                    std::string const& now) {
    MetricFamily family{
        .name = name, .type = MetricType::stateset, .unit = "", .help = std::move(help)};
    for (auto const& each : all) {
        family.samples.push_back({.labels = {{name, each}}, .value = each == now ? 1.0 : 0.0});
    }
    return family;
}

std::vector<std::string> run_states() {
    std::vector<std::string> names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<RunState>>(
        [&](auto each) { names.emplace_back(each.name); });
    return names;
}

}  // namespace

std::vector<MetricFamily> RunMetrics::families() const {
    std::vector<MetricFamily> families;
    add_states(families);
    add_progress(families);
    add_times(families);
    add_links(families);
    return families;
}

void RunMetrics::add_states(std::vector<MetricFamily>& families) const {
    MetricFamily info{
        .name = "osora_run", .type = MetricType::info, .unit = "", .help = "What the run is."};
    info.samples.push_back({.labels = {{"uuid", view_.run_uuid},
                                       {"job", view_.job},
                                       {"model", view_.job == "exec" ? "" : facts_.model},
                                       {"backend", facts_.backend},
                                       {"user", view_.user},
                                       {"controller", view_.controller_host},
                                       {"version", facts_.version}},
                            .value = 1});
    families.push_back(std::move(info));
    auto const* state = boost::describe::enum_to_string(view_.status.state, "");
    families.push_back(states("osora_run_state", "State of the run.", run_states(), state));
    families.push_back(states("osora_regression_state",
                              "suspected while steps take longer than at the start of the run.",
                              {"none", "suspected"}, sagging_ ? "suspected" : "none"));
}

void RunMetrics::add_progress(std::vector<MetricFamily>& families) const {
    auto const& status = view_.status;
    auto const add = [&](MetricFamily family) { families.push_back(std::move(family)); };
    add(single("osora_ranks", "", "Ranks of the run.", view_.nodes * view_.ranks_per_node));
    add(single("osora_nodes", "", "Nodes of the run.", view_.nodes));
    add(single("osora_step", "",
               "Steps done. It goes back to the checkpoint at a relaunch; "
               "osora_step_seconds_count never does.",
               view_.steps_done));
    if (view_.steps > 0) {
        add(single("osora_steps_planned", "", "Steps that the run is to do.", view_.steps));
    }
    add(counter("osora_restarts", "Relaunches after faults.", status.restarts));
    add(counter("osora_asked_relaunches", "Relaunches that a user asked for.",
                status.asked_relaunches));
    if (status.checkpoint_step >= 0) {
        add(single("osora_checkpoint_step", "", "Step that the newest checkpoint continues with.",
                   status.checkpoint_step));
    }
    if (last_step_us_ > 0) {
        add(single("osora_last_step_timestamp_seconds", "seconds",
                   "When the newest step was recorded, since 1970.",
                   static_cast<double>(last_step_us_) * kMicrosecond_s));
    }
    bool const has_steps = !view_.recent_steps.empty();
    if (view_.has_loss && has_steps) {
        add(single("osora_loss", "", "Loss of the newest step, mean over ranks.", view_.last_loss));
    }
    if (has_steps && view_.samples_per_s > 0) {
        add(single("osora_samples_per_second", "", "Samples a second over the newest steps.",
                   view_.samples_per_s));
    }
    if (has_steps && view_.eta_s > 0) {
        add(single("osora_eta_seconds", "seconds", "Time that the steps left take at this rate.",
                   view_.eta_s));
    }
    if (view_.rss_bytes > 0) {
        add(single("osora_rss_bytes", "bytes", "Resident memory of the rank with most.",
                   static_cast<double>(view_.rss_bytes)));
    }
    if (alloc_retries_.count > 0) {
        add(counter("osora_alloc_retries",
                    "Times that a GPU had too little memory, and its rank's allocator gave up its "
                    "cache to ask again.",
                    std::round(alloc_retries_.sum)));
    }
    if (view_.peak_allocated_bytes > 0) {
        add(single("osora_peak_allocated_bytes", "bytes",
                   "Most memory of tensors that any rank has had on its device.",
                   static_cast<double>(view_.peak_allocated_bytes)));
    }
}

MetricFamily RunMetrics::summary(MetricFamily family, std::string const& label,
                                 std::map<std::string, Sum> const& sums) {
    family.type = MetricType::summary;
    for (auto const& [name, sum] : sums) {
        MetricLabels labels;
        if (!label.empty()) labels.emplace_back(label, name);
        family.samples.push_back(
            {.suffix = "_count", .labels = labels, .value = static_cast<double>(sum.count)});
        family.samples.push_back({.suffix = "_sum", .labels = labels, .value = sum.sum});
    }
    return family;
}

MetricFamily RunMetrics::step_seconds() const {
    MetricFamily family{.name = "osora_step_seconds",
                        .type = MetricType::summary,
                        .unit = "seconds",
                        .help =
                            "Time of a step, of the rank that took longest. Quantiles are over "
                            "the newest 50 steps."};
    std::vector<double> times;
    for (auto const& step : view_.recent_steps) {
        if (std::isfinite(step.step_time_s)) times.push_back(step.step_time_s);
    }
    std::ranges::sort(times);
    for (double const quantile : kQuantiles) {
        if (times.empty()) break;
        auto const last = static_cast<double>(times.size() - 1);
        auto const at = static_cast<std::size_t>(std::lround(quantile * last));
        family.samples.push_back(
            {.labels = {{"quantile", fmt::format("{}", quantile)}}, .value = times[at]});
    }
    if (steps_.count == 0) return family;
    return summary(std::move(family), "", {{"", steps_}});
}

MetricFamily RunMetrics::node_step_seconds() const {
    MetricFamily family{.name = "osora_node_step_seconds",
                        .type = MetricType::gauge,
                        .unit = "seconds",
                        .help =
                            "Step time in the last report of each node, of its slowest rank; "
                            "only in runs with at most 64 ranks."};
    if (view_.nodes < 2 || view_.nodes * view_.ranks_per_node > kRanksLabelled) return family;
    for (std::size_t i = 0; i < view_.node_views.size(); ++i) {
        double const time = view_.node_views[i].step_time_s;
        if (!std::isfinite(time) || time <= 0) continue;
        auto const host = i < view_.status.nodes.size() ? view_.status.nodes[i].host : "";
        family.samples.push_back(
            {.labels = {{"node", fmt::format("{}", i)}, {"host", host}}, .value = time});
    }
    return family;
}

void RunMetrics::add_times(std::vector<MetricFamily>& families) const {
    families.push_back(step_seconds());
    families.push_back(summary({.name = "osora_phase_seconds",
                                .type = MetricType::summary,
                                .unit = "seconds",
                                .help = "Time of ranks in each phase of a step; the count is that "
                                        "of ranks times steps."},
                               "phase", phases_));
    std::map<std::string, Sum> loader;
    if (auto const found = phases_.find("data_wait"); found != phases_.end()) {
        loader.emplace("", found->second);
    }
    families.push_back(summary({.name = "osora_loader_stall_seconds",
                                .type = MetricType::summary,
                                .unit = "seconds",
                                .help = "Time that ranks waited for their loader; the count is "
                                        "that of ranks times steps."},
                               "", loader));
    families.push_back(summary({.name = "osora_exposed_comm_seconds",
                                .type = MetricType::summary,
                                .unit = "seconds",
                                .help = "Time that ranks only waited for collectives, by class; "
                                        "the count is that of ranks times steps."},
                               "op", waits_));
    families.push_back(node_step_seconds());
}

void RunMetrics::add_links(std::vector<MetricFamily>& families) const {
    MetricFamily pairs{.name = "osora_pair_bandwidth_bytes",
                       .type = MetricType::gauge,
                       .unit = "bytes",
                       .help =
                           "Bytes a second between two nodes, as the probe before the run "
                           "measured; of more than 64 pairs the slowest."};
    for (auto const& pair : slowest_) {
        pairs.samples.push_back(
            {.labels = {{"from", pair.from}, {"to", pair.to}}, .value = pair.bytes_per_s});
    }
    families.push_back(std::move(pairs));
    if (!view_.straggler) return;
    families.push_back(single("osora_straggler_rank", "",
                              "Rank that the others wait for; no sample when there is none.",
                              view_.straggler->rank));
    families.push_back(single("osora_straggler_late_seconds", "seconds",
                              "How long after the others that rank arrives.",
                              view_.straggler->late_s));
}

}  // namespace osora::daemon
