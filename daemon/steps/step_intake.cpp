// The clock is read after each line: one line may cost a hundred times as much as another.
#include "daemon/steps/step_intake.hpp"

#include <algorithm>
#include <utility>

namespace osora::daemon {
namespace {

constexpr std::size_t kNewestMax = plan::StepPattern::kLineMax;

}  // namespace

ReadBudget::ReadBudget(Clock clock, std::size_t bytes, MonotonicTime time)
    : clock_(std::move(clock)), bytes_(bytes), until_(clock_() + time) {}

StepIntake::StepIntake(Sources sources, OnStep on_step)
    : finder_(std::move(sources.finder)),
      on_step_(std::move(on_step)),
      steps_(sources.from_one, sources.from_start) {
    records_.source = std::move(sources.records);
    if (finder_.find) output_.source = std::move(sources.output);
}

bool StepIntake::is_due(MonotonicTime now) const {
    return paid_ < now + kStepsAtOnce * kStepEvery;
}

bool StepIntake::turn(ReadBudget& budget) {
    bool more = turn(records_, StepSource::descriptor, budget);  // before a line that is there now
    if (budget.is_spent()) return true;
    if (steps_.has_descriptor()) output_.source.reset();
    return turn(output_, StepSource::output, budget) || more;
}

bool StepIntake::turn(Stream& stream, StepSource kind, ReadBudget& budget) {
    if (!stream.newest.empty() && is_due(budget.now())) take_newest(stream, kind, budget.now());
    if (!stream.source) return false;
    if (stream.begin == stream.end) {
        catch_up(stream);
        stream.begin = 0;
        stream.end = stream.source->read(stream.slice);
        budget.spend(stream.end);
    }
    auto const text = std::string_view(stream.slice.data(), stream.end).substr(stream.begin);
    stream.begin += stream.lines.feed_while(text, [&](std::string_view line) {
        hear(stream, kind, line, budget.now());
        return !budget.is_spent();
    });
    return !text.empty();
}

/// When a log grows faster than it is read, reading continues near its end.
void StepIntake::catch_up(Stream& stream) {
    std::int64_t const behind = stream.source->behind();
    if (behind <= kBehindMax) return;
    stream.source->skip(behind - kCaughtUp);
    stream.lines.cut();
    left_out_.bytes += behind - kCaughtUp;
}

void StepIntake::hear(Stream& stream, StepSource kind, std::string_view line, MonotonicTime now) {
    if (is_due(now)) {
        take_newest(stream, kind, now);
        take(kind, line, now);
        return;
    }
    if (kind == StepSource::output && !finder_.may_be(line)) return;
    if (!stream.newest.empty()) ++left_out_.steps;
    stream.newest.assign(line.substr(0, kNewestMax));
}

void StepIntake::take_newest(Stream& stream, StepSource kind, MonotonicTime now) {
    if (stream.newest.empty()) return;
    take(kind, std::exchange(stream.newest, {}), now);
}

void StepIntake::take(StepSource kind, std::string_view line, MonotonicTime now) {
    std::optional<plan::StepFigures> figures;
    if (kind == StepSource::output) {
        figures = finder_.find(line);
        while (finder_.earlier) {
            auto const before = finder_.earlier();
            if (!before) break;
            take(kind, *before, now);
        }
    } else if (auto record = parse_step_record(line); record.has_value()) {
        figures = std::move(*record);
    }
    if (figures) take(kind, *figures, now);
}

void StepIntake::take(StepSource kind, plan::StepFigures const& figures, MonotonicTime now) {
    auto said = steps_.take(figures, kind, now);
    if (!said) return;
    paid_ = std::max(paid_, now) + kStepEvery;
    on_step_(std::move(*said));
}

void StepIntake::end(MonotonicTime now) {
    take_newest(records_, StepSource::descriptor, now);
    take_newest(output_, StepSource::output, now);
    auto const kept = finder_.end ? finder_.end() : std::nullopt;
    if (kept) take(StepSource::output, *kept, now);
}

bool look(std::span<StepIntake* const> ranks, std::size_t first, ReadBudget& budget) {
    bool more = !ranks.empty();
    while (more) {
        more = false;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            more = ranks[(first + i) % ranks.size()]->turn(budget) || more;
            if (budget.is_spent()) return true;
        }
    }
    return false;
}

}  // namespace osora::daemon
