// The sentences of a run's report: first the answer (how fast, did it learn), then what went wrong,
// then what to try.
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/report/report_phrases.hpp"
#include "cli/report/report_tables.hpp"
#include "cli/report/work_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr std::size_t kNoticesShown = 5;
constexpr std::size_t kRelaunchesShown = 5;

void add(Paragraphs& to, std::string label, std::string line) {
    if (!line.empty()) to.push_back({std::move(label), {std::move(line)}});
}

std::string ratio_text(Compared const& compared) {
    return fmt::format("predicted/measured {:.2f}", compared.ratio());
}

std::string title(RunReport const& report) {
    auto const& run = report.run.run;
    std::string const what = run.arch.empty() ? run.job : run.job + " " + run.arch;
    return fmt::format("run {} · {} · {} · {}", run.number, run.name, what, report.state.word);
}

std::string layout_line(RunReport const& report) {
    auto const& run = report.run.run;
    std::string text = counted(run.ranks, "rank") + " on " + counted(run.nodes, "node");
    if (!report.run.plan) return text;
    auto const& layout = report.run.plan->chosen;
    if (layout.threads_per_rank > 0) {
        text += " · " + counted(layout.threads_per_rank, "thread") + " a rank";
    }
    for (auto const& [name, size] :
         {std::pair{"tp", layout.tp_size}, {"sp", layout.sp_size}, {"pp", layout.pp_size}}) {
        if (size < 2) continue;
        text += fmt::format(" · {} {}", name, size);
        bool const has_kind = std::string_view(name) == "sp" && !layout.sp_kind.empty();
        if (has_kind) text += " " + layout.sp_kind;
    }
    text += fmt::format(" · dp {}", layout.dp_size);
    if (layout.zero_stage > 0) text += fmt::format(" · ZeRO-{}", layout.zero_stage);
    if (layout.shard_size > 0) text += fmt::format(" over {} ranks", layout.shard_size);
    return text;
}

std::string when_line(RunReport const& report) {
    auto const& run = report.run.run;
    std::string text = utc_text(run.submitted_us);
    if (!std::isnan(report.wall_s)) text += " · " + format_seconds(report.wall_s);
    if (run.steps_planned > 0) {
        text += fmt::format(" · {} of {}", format_count(report.measured.next_step),
                            counted(run.steps_planned, "step"));
    }
    if (!report.commit.empty()) text += " · osora " + report.commit.substr(0, 9);
    return text;
}

void add_speed(RunReport const& report, Paragraphs& to) {
    auto const& m = report.measured;
    if (report.run.run.job == "probe") return;
    if (m.steps_used == 0) return add(to, "speed", "no step was measured");
    auto const unit = time_unit({m.step_s_median});
    auto const spread = spread_cell(m.step_s_median, m.step_s_mad, unit).text;
    to.push_back({"speed",
                  {fmt::format("{} {}/step (median ± MAD of {}; {} of warm-up left out)", spread,
                               unit.name, counted(m.steps_used, "step"), m.warmup_steps)}});
    if (!std::isnan(m.samples_per_s)) {
        to.back().lines.push_back(three_digits(m.samples_per_s) + " samples/s");
    }
    if (auto work = work_line(report); !work.empty()) to.back().lines.push_back(std::move(work));
    if (std::isnan(report.step_s.predicted)) return;
    double const error = report.run.plan->predicted.step_time_error;
    std::string line =
        fmt::format("{} {}/step", seconds_cell(report.step_s.predicted, unit).text, unit.name);
    if (error > 0) line += fmt::format(" ± {:.0f} %", 100 * error);
    if (report.buckets.size() > 1) {
        line += fmt::format("; measured {} as the buckets mix",
                            seconds_cell(report.step_s.measured, unit).text);
    }
    line += "; " + ratio_text(report.step_s);
    if (report.outside_expected) line += ", outside the expected";
    add(to, "expected", line);
}

void add_bottlenecks(RunReport const& report, Paragraphs& to) {
    Paragraph verdict{"verdict", {}};
    for (auto const& each : report.bottlenecks) {
        verdict.lines.push_back(each.verdict + ": " + each.evidence);
        if (!each.next.empty()) verdict.lines.push_back("next: " + each.next);
    }
    if (!verdict.lines.empty()) to.push_back(std::move(verdict));
}

/// "stage 1 from step 400: 300 steps, 520 ms/step (expected 500 ms); 200 64x64x8 x 600 ms, ..."
std::string stage_line(StageRow const& row) {
    std::string line =
        fmt::format("stage {} from step {}: ", row.index, format_count(row.first_step));
    if (row.steps == 0) return line + "not reached";
    line += counted(row.steps, "step");
    if (row.steps_used == 0) return line + ", all of warm-up";
    line += fmt::format(", {}/step", format_seconds(row.step_s_median));
    if (!std::isnan(row.predicted_s))
        line += fmt::format(" (expected {})", format_seconds(row.predicted_s));
    char const* separator = "; ";
    for (auto const& each : row.buckets) {
        line += fmt::format("{}{} {} x {}", separator, format_count(each.steps), each.bucket,
                            format_seconds(each.step_s_median));
        separator = ", ";
    }
    return line;
}

void add_stages(RunReport const& report, Paragraphs& to) {
    if (report.stages.empty()) return;
    Paragraph stages{"stages", {}};
    for (auto const& row : report.stages) stages.lines.push_back(stage_line(row));
    to.push_back(std::move(stages));
}

std::string loss_line(Measured const& m) {
    if (m.loss_window == 0) return {};
    if (std::isnan(m.loss_first) || std::isnan(m.loss_last)) {
        return fmt::format("not a number in the {} {}", std::isnan(m.loss_last) ? "last" : "first",
                           counted(m.loss_window, "step"));
    }
    double const change = 100 * (m.loss_last / m.loss_first - 1);
    return fmt::format("{:.4g} -> {:.4g} ({:+.0f} %; means of the first and last {})", m.loss_first,
                       m.loss_last, change, counted(m.loss_window, "step"));
}

std::string memory_line(Compared const& memory) {
    if (std::isnan(memory.measured)) return {};
    bool const is_small = memory.measured < 0.01;  // GiB
    auto const bytes = static_cast<std::int64_t>(memory.measured * static_cast<double>(kGiB));
    std::string const peak =
        is_small ? format_bytes(bytes) : three_digits(memory.measured) + " GiB";
    std::string line = fmt::format("peak {} a rank", peak);
    if (memory.predicted > 0) {
        line +=
            fmt::format("; expected {}; {}", three_digits(memory.predicted), ratio_text(memory));
    }
    return line;
}

std::string relaunch_line(Relaunch const& each) {
    std::string back = fmt::format("from step {}", format_count(each.start_step));
    if (!std::isnan(each.down_s)) back += " after " + format_seconds(each.down_s);
    return fmt::format("{}: {}", back,
                       each.cause.empty() ? "a new controller continued" : each.cause);
}

void add_faults(RunReport const& report, Paragraphs& to) {
    auto const& m = report.measured;
    if (report.relaunches.empty() && m.steps_repeated == 0 && m.steps_undone == 0) return;
    auto const asked = std::ranges::count_if(report.relaunches, &Relaunch::asked);
    auto const by_faults = std::ssize(report.relaunches) - asked;
    std::string line =
        fmt::format("{} {} of {}", by_faults, by_faults == 1 ? "relaunch" : "relaunches",
                    report.run.run.restarts_max);
    if (asked > 0) line += fmt::format(" · {} as asked", asked);
    line += fmt::format(" · {} repeated", counted(m.steps_repeated, "step"));
    if (m.steps_undone > 0) line += fmt::format(" · {} lost", m.steps_undone);
    Paragraph faults{"faults", {line}};
    for (std::size_t i = 0; i < report.relaunches.size() && i < kRelaunchesShown; ++i) {
        faults.lines.push_back(relaunch_line(report.relaunches[i]));
    }
    if (report.relaunches.size() > kRelaunchesShown) {
        faults.lines.push_back(
            fmt::format("and {} more", report.relaunches.size() - kRelaunchesShown));
    }
    to.push_back(std::move(faults));
}

std::string evaluations_line(EvaluationSummary const& evaluations) {
    if (evaluations.count == 0) return {};
    std::string line =
        fmt::format("{:.4g} after {} steps, over {} held-out samples", evaluations.last_loss,
                    format_count(evaluations.last_step), format_count(evaluations.samples));
    if (evaluations.best_step != evaluations.last_step) {
        line += fmt::format("; best {:.4g} after {}", evaluations.best_loss,
                            format_count(evaluations.best_step));
    }
    return line;
}

std::string checkpoints_line(CheckpointSummary const& checkpoints) {
    if (checkpoints.count == 0) return {};
    std::string line =
        fmt::format("{}, the last for step {}", counted(checkpoints.count, "checkpoint"),
                    format_count(checkpoints.last_step));
    if (checkpoints.bytes > 0) line += ": " + format_bytes(checkpoints.bytes);
    if (!std::isnan(checkpoints.median_s)) {
        line += fmt::format("; {} each", format_seconds(checkpoints.median_s));
    }
    return line;
}

void add_notices(RunReport const& report, Paragraphs& to) {
    Paragraph notices{"notices", {}};
    for (std::size_t i = 0; i < report.notices.size() && i < kNoticesShown; ++i) {
        auto const& each = report.notices[i];
        notices.lines.push_back(
            fmt::format("{} x {}: {}", each.kind, format_count(each.count), each.first));
    }
    if (report.notices.size() > kNoticesShown) {
        notices.lines.push_back(
            fmt::format("and {} more kinds", report.notices.size() - kNoticesShown));
    }
    if (!notices.lines.empty()) to.push_back(std::move(notices));
    for (auto const& finding : report.findings) add(to, "journal", finding);
    if (report.measured.steps_incomplete > 0) {
        add(to, "missing",
            counted(report.measured.steps_incomplete, "step") +
                " without the figures of every rank, left out");
    }
    if (report.cores.shared) add(to, "cores", "ranks share cores: " + report.cores.text);
}

/// "own work of a step: rank 9 0.61 s (+17 %), rank 3 0.55 s (+6 %)": ranks well above the median.
std::string slow_ranks_line(std::vector<db::analysis::RankWork> const& ranks) {
    constexpr std::size_t kShown = 4;
    constexpr double kOver = 0.05;
    constexpr int kStepsMin = 10;
    std::string line;
    std::size_t count = 0;
    for (auto const& each : ranks) {
        if (each.steps < kStepsMin || !(each.excess >= kOver)) continue;
        if (++count > kShown) continue;
        line += fmt::format("{} rank {} {} (+{:.0f} %)", line.empty() ? "own work of a step:" : ",",
                            each.rank, format_seconds(each.median_s), 100 * each.excess);
    }
    if (count > kShown) line += fmt::format(" and {} more", count - kShown);
    return line;
}

/// Empty for one rank. "the slowest rank of a step works 1.27 times as long as the mean (planned
/// 1.00)"
std::string balance_line(Compared const& balance) {
    if (!(balance.measured > 0)) return {};
    std::string const planned =
        balance.predicted > 0 ? fmt::format(" (planned {:.2f})", balance.predicted) : std::string();
    return fmt::format("the slowest rank of a step works {:.2f} times as long as the mean{}",
                       balance.measured, planned);
}

std::string slow_line(protocol::Straggler const& slow) {
    return fmt::format("rank {} arrives {} ({:.0f} %) after the others, last in {} of {} steps",
                       slow.rank, format_seconds(slow.late_s), 100 * slow.share,
                       format_count(slow.steps), format_count(slow.of_steps));
}

}  // namespace

ReportPhrases phrases_of(RunReport const& report) {
    ReportPhrases words{.title = title(report),
                        .about = {layout_line(report), when_line(report)},
                        .answer = {},
                        .why = {},
                        .next = report.next};
    add(words.answer, "cause", report.state.cause);
    add_speed(report, words.answer);
    add_bottlenecks(report, words.answer);
    add_stages(report, words.answer);
    std::string const& job = report.run.run.job;
    if (job != "rehearse" && job != "encode" && job != "score")
        add(words.answer, "loss", loss_line(report.measured));
    add(words.answer, "eval", evaluations_line(report.evaluations));
    add(words.answer, "memory", memory_line(report.memory_gib));
    for (auto const& each : report.probe.findings) {
        add(words.answer, "found", each.place + ": " + each.evidence);
    }
    if (report.straggler) add(words.why, "slow", slow_line(*report.straggler));
    add(words.why, "balance", balance_line(report.rank_balance));
    add(words.why, "ranks", slow_ranks_line(report.rank_work));
    add_faults(report, words.why);
    add(words.why, "saved", checkpoints_line(report.checkpoints));
    add_notices(report, words.why);
    return words;
}

}  // namespace osora::cli
