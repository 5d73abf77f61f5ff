// Steps on their way into the journal: merged over the nodes, acknowledged once they are written.
// When a controller dies, its agents report the waiting steps again.
#include "daemon/controller/controller_impl.hpp"
#include "daemon/steps/step_text.hpp"

#include <iterator>
#include <utility>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr std::size_t kStepTimes = 50;

}  // namespace

void ControllerCore::Impl::take_chunk(int node, std::uint64_t number, MetricChunk const& chunk) {
    NodeLink& each = link(node);
    steps_.add(chunk, each.next_step, now_.monotonic);
    each.next_step = chunk.step0 + static_cast<int>(chunk.bucket.size());
    each.unwritten.push_back({number, each.next_step});
    bool const at_once = options_.steps_wait == MonotonicTime::zero();
    write_steps(at_once || steps_.rows() > StepMerger::kRowsMax);
    due_ = std::min(due_, steps_deadline());
}

void ControllerCore::Impl::write_steps(bool partial) {
    auto records = steps_.take(partial);
    if (records.empty()) return;
    for (MergedSteps& each : records) record(std::move(each), false);
    for (int node = 0; node < node_count(); ++node) {
        auto& unwritten = link(node).unwritten;
        int const written = steps_.taken_to(node);
        bool changed = false;
        while (!unwritten.empty() && unwritten.front().next_step <= written) {
            unwritten.pop_front();
            changed = true;
        }
        if (changed) acknowledge(node);
    }
    record_alarms();
}

/// The number up to which all chunks are written.
void ControllerCore::Impl::acknowledge(int node) {
    NodeLink& each = link(node);
    bool const waits = !each.unwritten.empty();
    std::uint64_t const next = waits ? each.unwritten.front().report : each.taken;
    if (next <= each.acknowledged) return;
    each.acknowledged = next;
    send(node, AckReports{next});
}

MonotonicTime ControllerCore::Impl::steps_deadline() const {
    MonotonicTime const oldest = steps_.oldest();
    return oldest == kNever ? kNever : oldest + options_.steps_wait;
}

/// Steps in the journal: live ones when they are written.
void ControllerCore::Impl::observe_steps(MergedSteps const& steps) {
    std::ranges::move(alarm_.take(steps), std::back_inserter(alarms_));
    for (std::size_t i = 0; i < steps.next_steps.size(); ++i) {
        auto const node = static_cast<std::int64_t>(i) + steps.first_node;
        if (node < 0 || node >= node_count()) continue;
        int& next_step = link(static_cast<int>(node)).next_step;
        next_step = std::max(next_step, steps.next_steps[i]);
    }
    auto const times = steps.columns.find("step_time_s");
    if (times == steps.columns.end()) return;
    for (double each : times->second.max) step_times_.push_back(each);
    while (step_times_.size() > kStepTimes) step_times_.pop_front();
}

/// Notes why no steps are known of a user program that has run.
void ControllerCore::Impl::tell_no_steps() {
    write_steps(true);
    bool const ran = status_.attempt >= 0 && status_.verdict != Verdict::app_bug;
    if (!status_.exec || !ran || !step_times_.empty() || no_steps_reported_) return;
    boost::system::error_code unset;
    auto const* pattern = options_.submission.config.find_pointer("/worker/step_pattern", unset);
    bool const wanted =
        pattern == nullptr || !pattern->is_string() || pattern->get_string() != "none";
    if (!wanted) return;
    RunNotice notice;
    notice.attempt = status_.attempt;
    notice.kind = kNoStepsFound;
    notice.severity = "info";
    notice.detail = "no training steps were found in the output; " + how_steps_are_found();
    record(std::move(notice), false);
}

}  // namespace osora::daemon
