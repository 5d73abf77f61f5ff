// The last collectives of this rank, in a ring of fixed size. Backends record them
// (flight_backend.hpp), the training loop sets the step; FlightWatch writes them to disk. Any
// thread may call; a record costs a lock and no allocation. No LibTorch.
#pragma once

#include "protocol/flight/flight.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

class FlightRecorder {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kRecords = 256;
    static constexpr std::size_t kPendingMax = 64;  // kept beside the ring while not ended

    explicit FlightRecorder(Clock::time_point start = Clock::now()) : start_(start) {}

    /// `ranks` of the run call the collectives of `name` in the same order.
    [[nodiscard]] int add_channel(std::string name, std::vector<int> ranks);

    struct Call {
        int channel = 0;
        char const* operation = "";  // all text lives as long as the process
        char const* dtype = "";
        std::int64_t bytes = 0;
        bool one_sided = false;  // a send: nobody has to wait for its end
    };
    /// A ticket for ended().
    [[nodiscard]] std::uint64_t started(Call const& call, Clock::time_point now = Clock::now());
    /// Once is enough; later reports for the same ticket change nothing.
    void ended(std::uint64_t ticket, bool well, Clock::time_point now = Clock::now());

    void at_step(int step);
    void at_micro_batch(int index);
    void in_phase(std::string phase);
    /// Called before dump() and oldest(): reports ends that were not reported yet.
    void refresh_with(std::function<void()> refresh);

    /// When the oldest collective in flight began; nullopt: none.
    [[nodiscard]] std::optional<Clock::time_point> oldest();
    [[nodiscard]] protocol::FlightDump dump(Clock::time_point now = Clock::now());

    /// The purpose of this thread's collectives, while it lives. `text` must outlive it.
    class Label {
    public:
        explicit Label(char const* text);
        ~Label();
        Label(Label const&) = delete;
        Label& operator=(Label const&) = delete;

    private:
        char const* outer_;
    };

private:
    struct Slot {
        std::uint64_t ticket = 0;  // 0: empty
        Call call;
        char const* label = "";
        std::int64_t sequence = 0;
        int step = -1, micro_batch = -1;
        protocol::CollectiveState state = protocol::CollectiveState::started;
        Clock::time_point start, end;
    };
    [[nodiscard]] Slot* find(std::uint64_t ticket);
    void refresh();

    std::mutex mutex_;
    Clock::time_point start_;
    std::array<Slot, kRecords> ring_{};
    std::deque<Slot> pending_;  // fell out of the ring before they ended
    std::vector<protocol::FlightChannel> channels_;
    std::uint64_t next_ticket_ = 1;
    std::int64_t forgotten_ = 0;
    int step_ = -1, micro_batch_ = -1;
    std::string phase_;
    std::mutex refreshing_;
    std::vector<std::function<void()>> refreshers_;
};

}  // namespace osora::worker
