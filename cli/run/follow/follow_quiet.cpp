// For commands that show a run's result, not its progress.
#include "cli/run/follow/follow_output.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

class QuietOutput final : public FollowOutput {
public:
    explicit QuietOutput(Write write) : write_(std::move(write)) {}

    void record(protocol::RunView const&, protocol::JournalRecord const&,
                protocol::RunView const&) override {}
    void waiting(std::string) override {}
    void tick(protocol::RunView const&, Moment) override {}
    void say(std::string_view text) override { write_(fmt::format("{}\n", text)); }
    void resized(int, int) override {}
    void end(protocol::RunView const& view, std::string_view lost) override {
        if (!lost.empty()) return say(lost);
        if (!view.status.cause.empty()) say(view.status.cause);
    }

private:
    Write write_;
};

}  // namespace

std::unique_ptr<FollowOutput> quiet_output(Write write) {
    return std::make_unique<QuietOutput>(std::move(write));
}

}  // namespace osora::cli
