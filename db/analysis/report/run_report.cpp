// Phases are means over the used steps, so that they add up; step times are medians.
#include "db/analysis/report/run_report.hpp"

#include "base/robust.hpp"
#include "base/text/shell_word.hpp"
#include "db/analysis/stragglers.hpp"
#include "protocol/json.hpp"
#include "protocol/notice_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <numeric>

namespace osora::db::analysis {
namespace {

/// In a plan, 0 means that osora did not predict the time.
double predicted(double planned) {
    return planned > 0 ? planned : kUnknown;
}

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kDataWaitHigh = 0.10;  // share of the step; above it the loader needs attention
constexpr double kWaitHigh = 0.10;
constexpr double kPixelsAlike = 2;  // ratio of shapes of one bucket

/// In the order of the report; "compute" is the sum of the parts after it.
std::vector<PhaseRow> phases_of(RunSummary const& run, StepFigures const& figures) {
    auto const phase = [&](char const* name, char const* column, double predicted_s = kUnknown) {
        PhaseRow row;
        row.name = name;
        row.mean_s = figures.mean_of(column);
        row.predicted_s = predicted_s;
        return row;
    };
    auto const plan = run.plan.value_or(PlanRecord{}).predicted;
    auto data = phase("data wait", "data_wait_s", plan.loader_s);
    auto forward = phase("forward", "forward_s"), backward = phase("backward", "backward_s");
    auto optimizer = phase("optimizer", "optimizer_s");
    for (auto* part : {&forward, &backward, &optimizer}) part->part_of_compute = true;
    PhaseRow compute;
    compute.name = "compute";
    compute.mean_s = forward.mean_s + backward.mean_s + optimizer.mean_s;
    compute.predicted_s = plan.compute_s;
    auto comm = phase("exposed comm", "exposed_comm_s", plan.exposed_comm_s);
    PhaseRow wait;
    wait.name = "wait for ranks";
    wait.mean_s = comm.mean_s - figures.least_comm_s;
    comm.mean_s = figures.least_comm_s;
    auto const step = phase("step", "step_time_s", plan.step_time_s);
    std::vector<PhaseRow> rows{data, compute, forward, backward, optimizer};
    if (run.run.ranks > 1) rows.insert(rows.end(), {comm, wait});
    rows.insert(rows.end(), {phase("other", "other_s"), step});
    std::erase_if(rows, [](PhaseRow const& row) { return std::isnan(row.mean_s); });
    for (auto& row : rows) row.share = row.mean_s / step.mean_s;
    return rows;
}

/// Of the plan, and of its later stages.
std::vector<PlannedBucket> planned_buckets(RunHistory const& history) {
    std::vector<PlannedBucket> planned;
    if (!history.summary.plan) return planned;
    planned = history.summary.plan->chosen.buckets;
    std::ranges::move(stage_buckets(history.events), std::back_inserter(planned));
    return planned;
}

/// Unknown when stages expect different times of the bucket.
double expected_step_s(std::vector<PlannedBucket> const& planned, std::string const& label) {
    double found = kUnknown;
    for (auto const& each : planned) {
        if (each.label() != label) continue;
        double const seconds = predicted(each.step_time_s);
        if (!std::isnan(found) && seconds != found) return kUnknown;
        found = seconds;
    }
    return found;
}

std::vector<BucketRow> buckets_of(std::vector<PlannedBucket> const& planned,
                                  StepFigures const& figures) {
    auto const& measured = figures.measured;
    std::vector<BucketRow> rows;
    for (auto const& bucket : measured.buckets) {
        if (bucket.steps == 0 || bucket.bucket.empty()) continue;  // exec jobs have no buckets
        BucketRow row;
        row.measured = bucket;
        row.share = static_cast<double>(bucket.steps) / measured.steps_used;
        row.step_s.measured = bucket.step_s_median;
        row.step_s.predicted = expected_step_s(planned, bucket.bucket);
        auto const taken = figures.bucket_s.find(bucket.bucket);
        double const seconds = taken == figures.bucket_s.end()  // thinned by an older osora
                                   ? bucket.steps * bucket.step_s_median
                                   : taken->second;
        row.samples_per_s = bucket.steps * bucket.samples_per_step / seconds;
        rows.push_back(std::move(row));
    }
    return rows;
}

struct SampleWork {
    double gflop = kUnknown, tokens = kUnknown;
};

/// Of a sample of the shape `label`, "64x96x8". A plan counts the most common shape of a bucket;
/// others of the bucket have as many frames and about as many pixels. Unknown for a shape with far
/// more or fewer pixels than any planned one: attention grows faster than they do.
SampleWork sample_work(std::vector<PlannedBucket> const& planned, std::string const& label) {
    int height = 0, width = 0, frames = 0;
    if (std::sscanf(label.c_str(), "%dx%dx%d", &height, &width, &frames) != 3) return {};
    double const pixels = static_cast<double>(height) * width;
    SampleWork found;
    double nearest = std::log(kPixelsAlike);
    for (PlannedBucket const& each : planned) {
        double const ratio = pixels / (static_cast<double>(each.height) * each.width);
        double const distance = std::abs(std::log(ratio));
        if (each.num_frames != frames || !(distance < nearest)) continue;
        nearest = distance;
        found = {ratio * each.gflop_per_sample, ratio * each.tokens_per_sample};
    }
    return found;
}

WorkRate work_rate(RunHistory const& history, std::vector<PlannedBucket> const& planned,
                   Measured const& measured) {
    // A rehearsal only waits as long as the model would have computed.
    bool const computes = history.summary.run.job == "train";
    if (!computes || !history.summary.plan || measured.buckets.empty()) return {};
    double flop = 0, tokens = 0, all_samples = 0;
    for (auto const& bucket : measured.buckets) {
        if (bucket.steps == 0) continue;
        auto const work = sample_work(planned, bucket.bucket);
        double const samples = bucket.steps * bucket.samples_per_step;
        flop += samples * work.gflop * 1e9;
        tokens += samples * work.tokens;
        all_samples += samples;
    }
    double const seconds = all_samples / measured.samples_per_s;
    // A plan has 0 where osora does not count a job's operations.
    auto const rate = [seconds](double sum) { return sum > 0 ? sum / seconds : kUnknown; };
    return {.flop_per_s = rate(flop), .tokens_per_s = rate(tokens)};
}

std::vector<CollectiveRow> collectives_of(std::vector<CollectiveTotal> const& totals) {
    std::vector<CollectiveRow> rows;
    for (auto const& total : totals) {
        auto const steps = static_cast<double>(total.rank_steps);
        CollectiveRow row{.name = total.name,
                          .collective = total.collective,
                          .backend = total.backend,
                          .ranks = total.ranks,
                          .calls = static_cast<double>(total.calls) / steps,
                          .bytes = total.bytes / steps,
                          .seconds = total.seconds / steps,
                          .exposed_s = total.exposed_s / steps};
        if (total.bytes > 0 && total.seconds > 0) {
            row.algbw_gbps = total.bytes / total.seconds / 1e9;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

CheckpointSummary checkpoints_of(std::vector<EventRecord> const& events) {
    CheckpointSummary summary;
    std::vector<double> seconds;
    for (auto const& event : events) {
        if (event.kind != protocol::CheckpointCompleted::kType) continue;
        auto const read = protocol::decode<protocol::CheckpointCompleted>(event.body);
        if (read.has_error()) continue;
        ++summary.count;
        summary.last_step = read->step;
        summary.bytes = read->bytes;
        seconds.push_back(read->seconds);
    }
    summary.median_s = median(std::move(seconds));
    return summary;
}

EvaluationSummary evaluations_of(std::vector<EventRecord> const& events) {
    std::map<int, protocol::EvaluationDone> by_step;
    for (auto const& event : events) {
        if (event.kind != protocol::EvaluationDone::kType) continue;
        auto const read = protocol::decode<protocol::EvaluationDone>(event.body);
        if (read.has_value()) by_step[read->step] = *read;
    }
    EvaluationSummary summary;
    for (auto const& [step, done] : by_step) {
        ++summary.count;
        summary.last_step = step;
        summary.last_loss = done.loss;
        summary.samples = done.samples;
        if (std::isnan(summary.best_loss) || done.loss < summary.best_loss) {
            summary.best_loss = done.loss;
            summary.best_step = step;
        }
    }
    return summary;
}

std::vector<NoticeGroup> notices_of(std::vector<EventRecord> const& events) {
    std::vector<NoticeGroup> groups;
    for (auto const& event : events) {
        if (event.kind != protocol::RunNotice::kType) continue;
        auto const read = protocol::decode<protocol::RunNotice>(event.body);
        if (read.has_error()) continue;
        auto const known = std::ranges::find(groups, read->kind, &NoticeGroup::kind);
        if (known != groups.end()) {
            ++known->count;
        } else {
            groups.push_back({read->kind, read->severity, 1, read->detail});
        }
    }
    return groups;
}

std::vector<std::string> findings_of(std::vector<EventRecord> const& events) {
    std::vector<std::string> findings;
    for (auto const& event : events) {
        if (event.sequence >= 0) continue;
        auto const body = protocol::parse_json(event.body);
        auto const* object = body.has_value() ? body->if_object() : nullptr;
        auto const* detail = object != nullptr ? object->if_contains("detail") : nullptr;
        if (detail == nullptr || !detail->is_string()) continue;
        findings.emplace_back(detail->get_string());
    }
    return findings;
}

/// Of tensors; of the whole process in records of trainers that do not count them.
double peak_gib(Measured const& measured) {
    auto const bytes =
        measured.peak_allocated_bytes > 0 ? measured.peak_allocated_bytes : measured.rss_bytes;
    return bytes == 0 ? kUnknown : static_cast<double>(bytes) / kGiB;
}

void compare_with_plan(RunReport& report) {
    report.step_s.measured = report.measured.step_s_mix;
    report.samples_per_s.measured = report.measured.samples_per_s;
    report.memory_gib.measured = peak_gib(report.measured);
    if (!report.run.plan) return;
    auto const& plan = report.run.plan->predicted;
    report.step_s.predicted = predicted(plan.step_time_s);
    report.samples_per_s.predicted = predicted(plan.samples_per_s);
    report.memory_gib.predicted = plan.peak_memory_gib;
    report.rank_balance.predicted = plan.rank_balance;
    double const off = std::abs(report.step_s.measured / report.step_s.predicted - 1);
    report.outside_expected = plan.step_time_error > 0 && off > plan.step_time_error;
}

/// Later stages have predictions of their own: what was expected of a step is then the mean over
/// the steps of each stage. The plan's other figures are of its first stage only.
void expect_stages(RunReport& report) {
    bool const in_later_stage = std::ranges::any_of(
        report.stages, [](StageRow const& row) { return row.index > 0 && row.steps_used > 0; });
    if (!in_later_stage || !report.run.plan) return;
    double steps = 0, seconds = 0, samples = 0, gib = 0;
    for (auto const& row : report.stages) {
        if (row.steps > 0) gib = std::fmax(gib, row.predicted_gib);
        if (row.steps_used == 0) continue;
        steps += row.steps_used;
        seconds += row.steps_used * row.predicted_s;
        samples += row.steps_used * row.predicted_s * row.predicted_samples_per_s;
    }
    report.step_s.predicted = predicted(seconds / steps);
    report.samples_per_s.predicted = predicted(samples / seconds);
    report.memory_gib.predicted = predicted(gib);
    report.rank_balance.predicted = kUnknown;
    for (auto& row : report.phases) {
        row.predicted_s = row.name == "step" ? report.step_s.predicted : kUnknown;
    }
    double const error = report.run.plan->predicted.step_time_error;
    double const off = std::abs(report.step_s.measured / report.step_s.predicted - 1);
    report.outside_expected = error > 0 && off > error;
}

std::vector<std::string> advice(RunReport const& report, int runs_in_series) {
    std::vector<std::string> next;
    int const number = report.run.run.number;
    if (report.state.word == "controller_lost") {
        next.push_back(fmt::format("osora resume {}", number));
    } else if (!report.state.good) {
        next.push_back(fmt::format("osora logs {}", number));
    }
    if (report.measured.data_share > kDataWaitHigh) {
        int const workers = report.run.plan ? report.run.plan->chosen.num_workers : 1;
        next.push_back(
            fmt::format("--set data.num_workers={}: the step waits for data {:.0f} % of its time",
                        workers + 1, 100 * report.measured.data_share));
    }
    if (report.measured.wait_share > kWaitHigh) {
        next.push_back(fmt::format("ranks wait for a slower one {:.0f} % of the step{}",
                                   100 * report.measured.wait_share,
                                   report.cores.shared ? ": they share cores" : ""));
    }
    if (report.outside_expected) {
        next.push_back("osora plan calibrate: the step time is outside what was expected");
    }
    if (runs_in_series > 1 && report.run.run.job != "probe") {
        next.push_back("osora report --series " + shell_word(report.run.run.series));
    }
    return next;
}

/// Of a run with another job than training the shares may say little, but they hold.
Symptoms symptoms_of(RunReport const& report, double memory_growth) {
    auto const& measured = report.measured;
    Symptoms symptoms{.number = report.run.run.number,
                      .steps = measured.steps_used,
                      .data_share = measured.data_share,
                      .comm_share = measured.comm_share,
                      .wait_share = measured.wait_share,
                      .straggler = report.straggler,
                      .memory_growth = memory_growth};
    int sags = 0;
    std::string why;
    for (auto const& group : report.notices) {
        if (group.kind == protocol::kThroughputSag) {
            sags += group.count;
            why = group.first;
        }
        if (group.kind == protocol::kThroughputBack) sags -= group.count;
    }
    if (sags > 0) symptoms.slower = why;
    return symptoms;
}

/// Of a user program osora knows no model and no loader, and predicts nothing.
RunSummary known_of(RunSummary summary) {
    if (summary.run.job != "exec") return summary;
    summary.run.arch.clear();
    if (!summary.plan) return summary;
    summary.plan->predicted = {};
    summary.plan->chosen.num_workers = 0;
    return summary;
}

std::string value_or_empty(Facts const& facts, char const* key) {
    auto const found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
}

}  // namespace

RunReport run_report(RunHistory const& history, LivenessFacts const& liveness) {
    RunReport report;
    report.run = known_of(history.summary);
    auto const& run = report.run.run;
    report.state = state_of(run, liveness);
    report.commit = value_or_empty(history.software, "osora.commit");
    report.precision = value_or_empty(history.config, "optim.precision");
    auto const until = run.ended_us ? run.ended_us : run.last_us;
    if (auto const begin = began_us(run); until && begin) {
        report.wall_s = std::max(0.0, static_cast<double>(*until - *begin) / 1e6);
    }
    auto const figures = history.kept
                             ? *history.kept
                             : step_figures(history.steps, history.arrivals, history.events);
    report.measured = figures.measured;
    if (run.ranks > 1) report.rank_balance.measured = figures.rank_balance;
    compare_with_plan(report);
    report.phases = phases_of(report.run, figures);
    report.straggler = figures.straggler;
    report.rank_work = figures.rank_work;
    auto const planned = planned_buckets(history);
    report.buckets = buckets_of(planned, figures);
    report.work = work_rate(history, planned, report.measured);
    report.stages = figures.stages;  // none: no [[stage]], or thinned by an older osora
    if (report.stages.empty()) report.stages = stage_rows(history.events, history.steps);
    expect_stages(report);
    report.collectives = collectives_of(history.collectives);
    report.relaunches = relaunches_of(history.events);
    report.checkpoints = checkpoints_of(history.events);
    report.evaluations = evaluations_of(history.events);
    report.notices = notices_of(history.events);
    report.findings = findings_of(history.events);
    report.cores = core_use(report.run);
    if (run.job == "probe") report.probe = history.probe;
    report.bottlenecks = bottlenecks(symptoms_of(report, figures.memory_growth));
    report.next = advice(report, history.runs_in_series);
    return report;
}

}  // namespace osora::db::analysis
