// The trials of osora bisect --scaling: repeated runs at each size, executed or replayed.
#pragma once

#include "cli/bisect/bisect_inputs.hpp"
#include "cli/command/context.hpp"
#include "cli/trial/rehearsal_result.hpp"
#include "cli/trial/trial_log.hpp"
#include "cli/trial/trial_run.hpp"
#include "plan/config/config_files.hpp"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// The command line's options.
struct Scaling {
    BisectSide base;  // the run that is repeated at other sizes
    std::string series;
    std::vector<int> sizes;  // nodes, ascending
    int steps = 0;           // of a trial
    int repeats = 0;         // of a size
    bool strong = false, real = false, json = false, anew = false;
    double budget_gpu_s = std::numeric_limits<double>::infinity();
    plan::ConfigRequest layers;
    std::filesystem::path state;
    std::FILE* progress = stdout;

    [[nodiscard]] std::string level() const { return real ? "run" : "rehearsal"; }
};

struct ScalingTrial {
    int nodes = 1;
    std::vector<std::string> sets = {};  // "parallel.grad_bucket_mib=50": a remedy
    double step_s = 0, cost_gpu_s = 0, samples_per_step = 0;
    RehearsalSplit split = {};
    std::string run = {};      // "stage1-bisect-0043"
    std::string failure = {};  // empty: it succeeded
};

/// The base run's settings at another size: keeps the batch of a rank, or with `strong` the global
/// batch.
[[nodiscard]] plan::RunConfig config_at(Scaling const& scaling, int nodes);

class ScalingTrials {
public:
    /// `context` and `scaling` must outlive it. busy, corrupt: as TrialLog.
    [[nodiscard]] static Result<ScalingTrials> open(Context const& context, Scaling const& scaling);

    /// nullopt: the trial does not fit the budget. cancelled: interrupted; corrupt: the log holds
    /// other trials. A remedy that fails is an answer; any other trial that fails is repeated once,
    /// then invalid_input says why.
    [[nodiscard]] Result<std::optional<ScalingTrial>> measure(int nodes,
                                                              std::vector<std::string> const& sets);

    [[nodiscard]] std::vector<ScalingTrial> const& done() const { return done_; }
    [[nodiscard]] double cost_gpu_s() const { return cost_gpu_s_; }
    [[nodiscard]] std::string const& id() const { return log_.id(); }
    [[nodiscard]] std::size_t known() const { return known_; }
    /// Records the result for the history. If the file cannot be written, says so on stderr.
    void end(db::InvestigationEnd end);

private:
    ScalingTrials(Context const& context, Scaling const& scaling, TrialLog log);
    [[nodiscard]] bool is_spent(int nodes) const;
    [[nodiscard]] Result<ScalingTrial> measure_anew(int nodes,
                                                    std::vector<std::string> const& sets);
    [[nodiscard]] Result<ScalingTrial> run(int nodes, std::vector<std::string> const& sets) const;

    Context const* context_;
    Scaling const* scaling_;
    TrialLog log_;
    std::size_t known_ = 0;
    std::vector<ScalingTrial> done_;
    double cost_gpu_s_ = 0;
};

}  // namespace osora::cli
