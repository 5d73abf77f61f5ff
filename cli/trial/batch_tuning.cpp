#include "cli/trial/batch_tuning.hpp"

#include "base/text/text.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/run/prepared_run.hpp"
#include "cli/text/text_table.hpp"
#include "cli/trial/batch_space.hpp"
#include "cli/trial/tune_plan.hpp"
#include "cli/trial/tune_trials.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

namespace osora::cli {
namespace {

constexpr int kBatchSteps = 25, kBatchStepsMax = 100'000;
constexpr int kBatchTrials = 12, kBatchTrialsMax = 1'000;

struct BatchTuning {
    TuneRun run;
    bool json = false;
    int trials = kBatchTrials;
    BatchChoices choices;
    double memory_gib = std::numeric_limits<double>::infinity();  // of a rank
};

double rank_memory_gib(PreparedRun const& base) {
    auto const& memory = base.submission.resolved.config.memory;
    if (memory.rank_memory_gib.value) return *memory.rank_memory_gib.value;
    double const gpu_gib = base.planned.header.gpu_memory_gib;
    return gpu_gib > 0 ? gpu_gib : std::numeric_limits<double>::infinity();
}

boost::system::result<BatchTuning, int> batch_tuning_of(Context const& context,
                                                        Arguments const& arguments) {
    BatchTuning tuning;
    tuning.json = arguments.has("--json");
    for (char const* other : {"--nccl", "--try"}) {
        if (arguments.has(other)) {
            return fail(kExitUsage, fmt::format("--batch and {} are tuned one after the other: "
                                                "leave one out",
                                                other));
        }
    }
    auto const steps = arguments.number("--steps", 5, kBatchStepsMax);
    auto const trials = arguments.number("--trials", 2, kBatchTrialsMax);
    if (steps.has_error()) return fail(kExitUsage, steps.error());
    if (trials.has_error()) return fail(kExitUsage, trials.error());
    tuning.trials = trials->value_or(kBatchTrials);
    auto run = tune_run(context, arguments, true, steps->value_or(kBatchSteps));
    if (run.has_error()) return fail(kExitUsage, run.error());
    tuning.run = std::move(*run);
    auto const base = prepare_run(context, tuning.run.request, tuning.json);
    if (base.has_error()) return base.error();
    print_notes(*base);
    auto const& decision = base->planned.decision;
    if (decision.chosen.buckets.empty()) {
        return fail(kExitUsage, "the plan has no [[bucket]] to tune");
    }
    tuning.choices = batch_choices(base->submission.resolved, decision);
    tuning.memory_gib = rank_memory_gib(*base);
    return tuning;
}

/// Plans of points, each by the same code as the run's.
class Forecaster {
public:
    Forecaster(Context const& context, BatchTuning const& tuning)
        : context_(context), tuning_(tuning), cluster_(local_cluster(context)) {}

    std::optional<plan::BatchForecast> operator()(plan::BatchPoint const& point) {
        auto const settings = settings_of(tuning_.choices, point);
        if (!seen_.insert(settings).second) return {};  // the same as a smaller micro-batch
        auto request = tuning_.run.request;
        for (auto& each : sets_of(settings)) request.sets.push_back(std::move(each));
        auto const resolved = plan::load_config(request);
        if (!resolved.problems.empty() || !plan_problems(resolved, cluster_).empty()) return {};
        PlanInputs inputs{.cluster = cluster_, .base_dir = request.base_dir, .calibration = {}};
        if (inputs.base_dir.empty()) inputs.base_dir = plan::base_dir_of(request.run_file);
        auto const planned = plan_run(context_, resolved, inputs);
        if (planned.has_error()) return {};
        auto const& predicted = planned->decision.predicted;
        return plan::BatchForecast{predicted.samples_per_s, predicted.peak_memory_gib};
    }

private:
    Context const& context_;
    BatchTuning const& tuning_;
    topology::Cluster cluster_;
    std::set<plan::TuneSettings> seen_;
};

std::string memory_text(double gib) {
    return std::isfinite(gib) ? fmt::format("{} GiB", three_digits(gib)) : "-";
}

void print_row(std::FILE* stream, std::string const& number, plan::BatchTrial const& trial,
               std::string const& text) {
    bool const ran = trial.failure.empty();
    cli::print(stream, " {:>3}  {:>8}  {:>9}  {:>9}  {}\n", number,
               three_digits(trial.expected.samples_per_s),
               ran ? three_digits(trial.measured.samples_per_s) : "failed",
               ran ? memory_text(trial.measured.peak_memory_gib) : "-", text);
    if (!ran) cli::print(stream, "      {}\n", trial.failure);
    std::fflush(stream);
}

protocol::json::value finite(double value) {
    return std::isfinite(value) ? protocol::json::value(value) : protocol::json::value();
}

protocol::json::object json_of(BatchTuning const& tuning, plan::BatchSearch const& search) {
    protocol::json::array points;
    for (auto const& each : search.trials()) {
        bool const ran = each.failure.empty();
        points.push_back(protocol::json::object{
            {"settings", protocol::to_json(settings_of(tuning.choices, each.point))},
            {"expected_samples_per_s", each.expected.samples_per_s},
            {"expected_peak_memory_gib", each.expected.peak_memory_gib},
            {"samples_per_s", ran ? finite(each.measured.samples_per_s) : protocol::json::value()},
            {"peak_memory_gib",
             ran ? finite(each.measured.peak_memory_gib) : protocol::json::value()},
            {"failure", each.failure}});
    }
    auto const* const best = search.best();
    auto const* const planned = search.planned();
    protocol::json::object object{{"run", tuning.run.name},
                                  {"rung", tuning.run.rung},
                                  {"trials", search.trials().size()},
                                  {"points", std::move(points)}};
    object["kept"] = best == nullptr || best == planned
                         ? protocol::json::value(protocol::json::object())
                         : protocol::to_json(settings_of(tuning.choices, best->point));
    object["gain"] = best != nullptr && planned != nullptr
                         ? protocol::json::value(
                               best->measured.samples_per_s / planned->measured.samples_per_s - 1)
                         : protocol::json::value();
    return object;
}

void print_answer(BatchTuning const& tuning, plan::BatchSearch const& search) {
    auto const& best = *search.best();
    auto const* const planned = search.planned();
    if (&best == planned) {
        cli::print("\nthe plan's choice is the fastest of {}: the run file is fine as it is\n",
                   counted(static_cast<std::int64_t>(search.trials().size()), "trial"));
        return;
    }
    cli::print("\nfastest  {}: {} samples/s", point_text(tuning.choices, best.point),
               three_digits(best.measured.samples_per_s));
    if (planned != nullptr) {
        cli::print(", {:.0f} % more than as planned",
                   100 * (best.measured.samples_per_s / planned->measured.samples_per_s - 1));
    }
    cli::print("\n\n{}", batch_lines(tuning.choices, best.point));
}

int end_code(BatchTuning const& tuning, plan::BatchSearch const& search) {
    if (search.best() == nullptr) {
        return fail(kExitBad, search.trials().empty()
                                  ? "no setting fits this machine"
                                  : "no trial ran: " + search.trials().front().failure);
    }
    if (tuning.json) {
        print_json("tune", json_of(tuning, search));
    } else {
        print_answer(tuning, search);
    }
    return kExitOk;
}

db::InvestigationEnd end_of(plan::BatchSearch const& search) {
    if (search.best() == nullptr) return {.verdict = "undecided", .culprits = {}};
    return {.verdict = search.best() == search.planned() ? "nothing_helps" : "helps",
            .culprits = {}};
}

}  // namespace

int tune_batches(Context const& context, Arguments const& arguments) {
    auto const tuning = batch_tuning_of(context, arguments);
    if (tuning.has_error()) return tuning.error();
    auto const& choices = tuning->choices;
    Forecaster forecaster(context, *tuning);
    plan::BatchSearch search({.layouts = static_cast<int>(choices.layouts.size()),
                              .recompute_levels = static_cast<int>(choices.recompute.size()),
                              .micro_batches = choices.micro_batches,
                              .planned = choices.planned,
                              .memory_gib = tuning->memory_gib,
                              .forecast = [&](auto const& point) { return forecaster(point); }},
                             tuning->trials);
    if (search.candidates() < 2) {
        return fail(kExitUndecided,
                    "nothing to try: the run file sets micro-batches, recomputing and layout, or "
                    "no other fits");
    }
    TuneRecord record(context, tuning->run);
    std::FILE* const progress = tuning->json ? stderr : stdout;
    cli::print(progress, "tune {} · training of {} steps, at most {} of {} settings\n\n",
               tuning->run.name, tuning->run.steps, tuning->trials, search.candidates());
    cli::print(progress, " {:>3}  {:>8}  {:>9}  {:>9}  {}\n", "#", "expected", "samples/s",
               "memory", "micro-batches · recompute · layout");
    while (auto const point = search.next()) {
        auto const end = record.measure(context, settings_of(choices, *point));
        if (end.exit_code == kExitInterrupted) {
            cli::print(progress, "stopped: what is best so far is not sure\n");
            if (search.best() != nullptr) static_cast<void>(end_code(*tuning, search));
            return kExitInterrupted;
        }
        if (end.ran_out_of_memory) {
            search.add_failure("ran out of memory");
        } else if (end.failure.empty()) {
            search.add({end.samples_per_step / end.step_s, end.peak_memory_gib});
        } else {
            search.add_failure(end.failure);
        }
        auto const& trial = search.trials().back();
        print_row(progress, std::to_string(search.trials().size()), trial,
                  point_text(choices, trial.point));
    }
    record.end(end_of(search));
    return end_code(*tuning, search);
}

}  // namespace osora::cli
