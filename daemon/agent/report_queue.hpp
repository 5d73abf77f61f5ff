// Reports of an agent that the controller has not acknowledged, in order: the oldest in memory,
// from where they are sent, a window at a time; later ones in a spill when there are many (a
// controller that is away for long). Used by the agent core; no I/O except through the interface.
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
    static constexpr std::size_t kInMemoryBytes = 8u << 20;  // encoded
    /// Sent and not acknowledged: far below what a connection queues before it gives up its peer.
    static constexpr std::size_t kWindowBytes = 2u << 20;

    /// Without a spill all are kept in memory.
    explicit ReportQueue(Spill* spill) : spill_(spill) {}

    /// Appends. What no longer fits, metrics and notices first, is dropped and counted.
    void push(protocol::FromAgent report);
    /// Drops those with a number below `next`.
    void acknowledge(std::uint64_t next);
    /// A new connection: all are sent again.
    void send_again() { sent_ = sent_bytes_ = 0; }
    /// Those that may be sent now: they count as sent.
    [[nodiscard]] std::vector<protocol::FromAgent> take_to_send();

    [[nodiscard]] std::deque<protocol::FromAgent> const& in_memory() const { return memory_; }
    [[nodiscard]] std::uint64_t first_number() const { return first_number_; }
    [[nodiscard]] bool is_full() const;
    /// Dropped since the last call.
    [[nodiscard]] std::uint64_t take_dropped();

private:
    struct Encoded {
        protocol::FromAgent report;
        std::size_t bytes = 0;
    };
    void keep(protocol::FromAgent report, std::size_t bytes);
    [[nodiscard]] std::optional<Encoded> next_spilled();

    Spill* spill_;
    std::deque<protocol::FromAgent> memory_;
    std::deque<std::size_t> bytes_;           // of each in memory_, encoded
    std::size_t memory_bytes_ = 0;            // their sum
    std::size_t sent_ = 0, sent_bytes_ = 0;   // the first of memory_, on this connection
    std::uint64_t first_number_ = 0;          // of the oldest
    std::uint64_t spilled_ = 0;               // newer than memory_
    std::deque<protocol::FromAgent> behind_;  // newer than the spill, which took no more
    std::uint64_t dropped_ = 0;
};

}  // namespace osora::daemon
