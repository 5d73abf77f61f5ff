// Output of follow mode: a terminal (a block that is updated in place), a pipe (plain lines), or
// JSON lines. Each gets the same calls and writes through a function, so that tests can check it.
#pragma once

#include "cli/run/follow/follow_text.hpp"
#include "cli/run/runs.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace osora::cli {

using Write = std::function<void(std::string_view)>;

/// Both clocks of one moment.
struct Moment {
    double steady_s = 0;  // monotonic
    std::int64_t wall_us = 0;
};

class FollowOutput {
public:
    virtual ~FollowOutput() = default;
    /// One record, with the view before and after it.
    virtual void record(protocol::RunView const& before, protocol::JournalRecord const& record,
                        protocol::RunView const& after) = 0;
    /// What the run waits for before the journal has news; "" = nothing special.
    virtual void waiting(std::string text) = 0;
    /// Called a few times per second.
    virtual void tick(protocol::RunView const& view, Moment now) = 0;
    /// A message of osora itself.
    virtual void say(std::string_view text) = 0;
    virtual void resized(int columns, int rows) = 0;
    /// The run has ended, or is no longer followed (`lost` says why).
    virtual void end(protocol::RunView const& view, std::string_view lost) = 0;
};

/// `nodes`: the block also has a table of the nodes.
[[nodiscard]] std::unique_ptr<FollowOutput> terminal_output(Write write, Expected expected,
                                                            Terminal terminal, bool nodes = false);
/// A progress line every 10 s or at each tenth of the run, whichever comes first; a line for a rank
/// that becomes slow.
[[nodiscard]] std::unique_ptr<FollowOutput> pipe_output(Write write, Expected expected);
[[nodiscard]] std::unique_ptr<FollowOutput> json_output(Write write);
/// Prints only waiting in a queue, and why a run failed: the calling command prints the rest.
[[nodiscard]] std::unique_ptr<FollowOutput> quiet_output(Write write);

}  // namespace osora::cli
