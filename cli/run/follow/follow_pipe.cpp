// Plain lines: none twice, none without news.
#include "base/text/text.hpp"
#include "cli/run/follow/follow_output.hpp"

#include "base/text/units.hpp"
#include "cli/run/follow/node_table.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

class PipeOutput final : public FollowOutput {
public:
    PipeOutput(Write write, Expected expected) : write_(std::move(write)), expected_(expected) {}

    void record(protocol::RunView const& before, protocol::JournalRecord const& record,
                protocol::RunView const& after) override {
        for (std::string const& line : events_.lines(before, record, after)) say(line);
        if (auto const* saved = std::get_if<protocol::CheckpointCompleted>(&record.event)) {
            say(fmt::format("checkpoint {} saved: {} in {}", format_count(saved->step),
                            format_bytes(saved->bytes), format_seconds(saved->seconds)));
        }
        if (auto const* done = std::get_if<protocol::EvaluationDone>(&record.event)) {
            say(fmt::format("evaluation after {}: loss {:.4g} over {}", format_count(done->step),
                            done->loss, counted(done->samples, "sample")));
        }
    }

    void waiting(std::string) override {}

    void tick(protocol::RunView const& view, Moment now) override {
        constexpr double kEverySeconds = 10;
        int const slow = view.straggler ? view.straggler->rank : -1;
        if (slow != said_slow_ && slow >= 0) say(arrival_line(view));
        said_slow_ = slow;
        if (view.recent_steps.empty() || view.steps_done == said_steps_) return;
        int const tenth = view.steps > 0 ? view.steps_done * 10LL / view.steps : 0;
        bool const due = said_steps_ < 0 || now.steady_s - said_s_ >= kEverySeconds;
        if (!due && tenth == said_tenth_) return;
        said_steps_ = view.steps_done;
        said_tenth_ = tenth;
        said_s_ = now.steady_s;
        say(progress_line(view, expected_));
    }

    void say(std::string_view text) override { write_(fmt::format("{}\n", text)); }
    void resized(int, int) override {}

    void end(protocol::RunView const& view, std::string_view lost) override {
        if (!lost.empty()) return say(lost);
        write_(summary(view, expected_));
    }

private:
    Write write_;
    Expected expected_;
    EventText events_;
    int said_steps_ = -1;
    int said_tenth_ = 0;
    int said_slow_ = -1;  // rank
    double said_s_ = 0;
};

}  // namespace

std::unique_ptr<FollowOutput> pipe_output(Write write, Expected expected) {
    return std::make_unique<PipeOutput>(std::move(write), expected);
}

}  // namespace osora::cli
