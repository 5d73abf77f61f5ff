// Warns the user during the run that its steps have become slower or its loss diverges: after a
// relaunch with another layout, after a batch change, or without such a cause. Fed with steps as
// they go into the journal, once node 0 has reported them: that is enough for a step that not all
// nodes have reported yet, since its ranks wait for each other. Pure; part of the controller core,
// where replayed records give the same state.
#pragma once

#include "protocol/journal/run_events.hpp"
#include "protocol/steps/merged_steps.hpp"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace osora::daemon {

struct StepAlarmOptions {
    int warmup_steps = 20;     // of each attempt
    int reference_steps = 30;  // of a bucket, after the warm-up; later steps are compared with them
    int window_steps = 20;     // that must agree
    double sag = 0.15;         // reported when slower by more than this share
    double sag_s = 0.01;       // and by more than this a step: shorter steps feel every neighbour
    double back = 0.05;        // recovered when slower by less than this share
    int loss_window_steps = 50;
    double loss_rise = 0.2;  // of the lowest level so far
    double spreads = 6;      // a level must also move by so many of its standard errors
    bool has_loss = true;    // false: a rehearsal, whose losses are not numbers
};

class StepAlarm {
public:
    explicit StepAlarm(StepAlarmOptions options = {}) : options_(options) {}

    /// Notices to record: kinds throughput_sag, throughput_back, loss_divergence. Records without
    /// node 0 are ignored.
    [[nodiscard]] std::vector<protocol::RunNotice> take(protocol::MergedSteps const& steps);

private:
    struct Reference {
        std::vector<double> seconds;  // step times of a rank, until there are enough
        double median_s = 0, spread_s = 0;
    };

    void begin_attempt(protocol::MergedSteps const& steps);
    void look_at_time(std::string const& bucket, double step_s, double samples,
                      std::vector<protocol::RunNotice>& notices);
    void look_at_loss(double loss, std::vector<protocol::RunNotice>& notices);
    [[nodiscard]] protocol::RunNotice notice(std::string kind, std::string severity,
                                             std::string detail) const;
    /// " since the relaunch at step 120" while that is recent.
    [[nodiscard]] std::string since() const;

    StepAlarmOptions options_;
    int attempt_ = -1, first_step_ = 0, step_ = 0, next_step_ = 0;
    std::map<std::string, Reference> references_;  // by bucket; kept over relaunches
    std::deque<double> ratios_;                    // of the last steps, over their references
    double ratio_spread_ = 0;                      // of the reference steps
    bool sagging_ = false;
    std::deque<double> losses_;
    double lowest_loss_ = 0, lowest_spread_ = 0;  // a window's median, and its spread
    bool has_lowest_ = false, diverging_ = false;
};

}  // namespace osora::daemon
