// Reports of an agent that the controller has not acknowledged, in order: the oldest in memory,
// from where they are sent; later ones in a spill when there are many (a controller that is away
// for long). Used by the agent core; no I/O except through the interface.
#pragma once

#include "base/result.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::daemon {

/// First in, first out.
class Spill {
public:
    virtual ~Spill() = default;
    /// out_of_space: it or the disk is full; nothing was taken.
    [[nodiscard]] virtual Result<void> push(std::string_view record) = 0;
    /// The oldest; nullopt when there is none. An error: the record is lost.
    [[nodiscard]] virtual Result<std::optional<std::string>> pop() = 0;
};

class ReportQueue {
public:
    static constexpr std::size_t kInMemory = 1000;

    /// Without a spill all are kept in memory.
    explicit ReportQueue(Spill* spill) : spill_(spill) {}

    /// Appends; returns whether to send it now (else refill() returns it later). What no longer
    /// fits, metrics and notices first, is dropped and counted.
    bool push(protocol::FromAgent report);
    /// Drops those with a number below `next`, and returns those that may be sent now.
    [[nodiscard]] std::vector<protocol::FromAgent> acknowledge(std::uint64_t next);

    [[nodiscard]] std::deque<protocol::FromAgent> const& in_memory() const { return memory_; }
    [[nodiscard]] std::uint64_t first_number() const { return first_number_; }
    /// Dropped since the last call.
    [[nodiscard]] std::uint64_t take_dropped();

private:
    bool spill(protocol::FromAgent const& report);
    [[nodiscard]] std::optional<protocol::FromAgent> next_spilled();

    Spill* spill_;
    std::deque<protocol::FromAgent> memory_;
    std::uint64_t first_number_ = 0;          // of the oldest
    std::uint64_t spilled_ = 0;               // newer than memory_
    std::deque<protocol::FromAgent> behind_;  // newer than the spill, which took no more
    std::uint64_t dropped_ = 0;
};

}  // namespace osora::daemon
