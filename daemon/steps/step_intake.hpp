// How much of the ranks' step reports is read in one turn of the agent's loop, and how many of
// their steps are taken: a program may write more than the agent can read. Driven by StepWatch;
// pure except for its sources and its clock.
#pragma once

#include "base/text/line_splitter.hpp"
#include "daemon/steps/exec_steps.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::daemon {

/// What one turn of the loop may cost, for all ranks together.
class ReadBudget {
public:
    using Clock = std::function<MonotonicTime()>;
    static constexpr std::size_t kBytes = 256 << 10;
    static constexpr MonotonicTime kTime = std::chrono::milliseconds(5);

    explicit ReadBudget(Clock clock, std::size_t bytes = kBytes, MonotonicTime time = kTime);
    [[nodiscard]] MonotonicTime now() const { return clock_(); }
    [[nodiscard]] bool is_spent() const { return bytes_ == 0 || clock_() >= until_; }
    void spend(std::size_t bytes) { bytes_ -= std::min(bytes, bytes_); }

private:
    Clock clock_;
    std::size_t bytes_;
    MonotonicTime until_;
};

/// A pipe, or a file that grows.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// 0: nothing is there now.
    virtual std::size_t read(std::span<char> into) = 0;
    /// Bytes that wait and may be skipped; 0 where they may not.
    [[nodiscard]] virtual std::int64_t behind() = 0;
    virtual void skip(std::int64_t bytes) = 0;
};

/// What was skipped.
struct LeftOut {
    std::int64_t bytes = 0;  // of logs
    std::int64_t steps = 0;  // records, or lines that look like steps
};

class StepIntake {
public:
    struct Finder {
        /// Empty: lines are not parsed.
        std::function<std::optional<plan::StepFigures>(std::string_view line)> find;
        std::function<bool(std::string_view line)> may_be = may_be_step;  // a cheap test
        /// No line follows: returns a step that find() has kept back. May be empty.
        std::function<std::optional<plan::StepFigures>()> end = {};
        /// Steps of earlier lines, which come before the result of find(); called until there is
        /// none.
        std::function<std::optional<plan::StepFigures>()> earlier = {};
    };
    using OnStep = std::function<void(SaidStep)>;
    static constexpr std::int64_t kBehindMax = 4 << 20;  // of a log; then to near its end
    static constexpr std::int64_t kCaughtUp = 64 << 10;  // this near
    static constexpr MonotonicTime kStepEvery = std::chrono::milliseconds(10);
    static constexpr int kStepsAtOnce = 256;  // of a program that was silent before

    struct Sources {
        std::shared_ptr<ByteSource> records, output;  // may be empty
        Finder finder;                                // of lines of the output
        bool from_one = false, from_start = false;    // of ExecSteps
    };
    StepIntake(Sources sources, OnStep on_step);

    /// Reads at most a slice of each source. Returns whether there may be more.
    bool turn(ReadBudget& budget);
    /// No more input will come: takes the newest step, which may have been skipped until then.
    void end(MonotonicTime now);
    [[nodiscard]] LeftOut const& left_out() const { return left_out_; }
    [[nodiscard]] bool counts_from_one() const { return steps_.counts_from_one(); }

private:
    static constexpr std::size_t kSlice = 4 << 10;
    struct Stream {
        std::shared_ptr<ByteSource> source;
        LineSplitter lines;
        std::array<char, kSlice> slice{};
        std::size_t begin = 0, end = 0;  // of what was read and not parsed
        std::string newest;              // last line that was skipped; "": none
    };
    bool turn(Stream& stream, StepSource kind, ReadBudget& budget);
    void catch_up(Stream& stream);
    void hear(Stream& stream, StepSource kind, std::string_view line, MonotonicTime now);
    void take(StepSource kind, std::string_view line, MonotonicTime now);
    void take(StepSource kind, plan::StepFigures const& figures, MonotonicTime now);
    void take_newest(Stream& stream, StepSource kind, MonotonicTime now);
    [[nodiscard]] bool is_due(MonotonicTime now) const;

    Stream records_, output_;
    Finder finder_;
    OnStep on_step_;
    ExecSteps steps_;
    MonotonicTime paid_{};  // the allowance of steps is used up to here
    LeftOut left_out_;
};

/// One look at all ranks, a slice of each in turn, from `first` on, until the budget is spent.
/// Returns whether there may be more.
bool look(std::span<StepIntake* const> ranks, std::size_t first, ReadBudget& budget);

}  // namespace osora::daemon
