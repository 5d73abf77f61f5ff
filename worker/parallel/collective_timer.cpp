// Gloo completes a work's future on its own thread, before wait() returns; the callback notes the
// time there. NCCL's works have two events each once their timing is switched on.
#include "worker/parallel/collective_timer.hpp"

#include <ATen/core/ivalue_inl.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace osora::worker {
namespace {

using Clock = CollectiveTimer::Clock;

/// Not every backend has futures or reports their ends.
void note_end(c10d::Work& work, std::shared_ptr<std::atomic<Clock::rep>> done) {
    try {
        auto const future = work.getFuture();
        if (!future) return;
        future->addCallback(
            [done = std::move(done)](c10::ivalue::Future&) {
                done->store(Clock::now().time_since_epoch().count());
            },
            /*uses_future=*/false);
    } catch (std::exception const&) {}
}

}  // namespace

CollectiveTimer::CollectiveTimer(std::string name, std::string collective, c10d::Backend& backend)
    : device_times_(backend.getBackendName() == "nccl") {
    counted_.name = std::move(name);
    counted_.collective = std::move(collective);
    counted_.backend = backend.getBackendName();
    counted_.ranks = backend.getSize();
    if (device_times_) backend.enableCollectivesTiming();
}
CollectiveTimer::~CollectiveTimer() = default;
CollectiveTimer::CollectiveTimer(CollectiveTimer&&) noexcept = default;

void CollectiveTimer::begin() {
    calls_.clear();
    counted_.calls = counted_.bytes = 0;
}

void CollectiveTimer::started(Clock::time_point start, c10::intrusive_ptr<c10d::Work> work,
                              std::int64_t bytes) {
    ++counted_.calls;
    counted_.bytes += bytes;
    Call call{.start = start, .done = std::make_shared<std::atomic<Clock::rep>>(0), .work = {}};
    if (device_times_) {
        call.work = std::move(work);
    } else {
        note_end(*work, call.done);
    }
    calls_.push_back(std::move(call));
}

void CollectiveTimer::ended(std::size_t index) {
    if (index >= calls_.size()) return;
    Clock::rep reported = 0;
    calls_[index].done->compare_exchange_strong(reported, Clock::now().time_since_epoch().count());
}

/// They start one after the other, so what overlaps is found in one pass.
double CollectiveTimer::seconds() const {
    auto const now = Clock::now();
    std::chrono::duration<double> busy{};
    Clock::time_point until{};
    for (Call const& call : calls_) {
        if (call.work) {
            // One stream: they do not overlap.
            busy += std::chrono::duration<double, std::milli>(call.work->getDuration());
            continue;
        }
        auto const ticks = call.done->load();
        auto const done = ticks == 0 ? now : Clock::time_point(Clock::duration(ticks));
        auto const from = std::max(call.start, until);
        if (done <= from) continue;
        busy += done - from;
        until = done;
    }
    return busy.count();
}

protocol::CollectiveCost CollectiveTimer::cost(double exposed_s) const {
    protocol::CollectiveCost cost = counted_;
    cost.exposed_s = std::max(0.0, exposed_s);
    try {
        cost.seconds = seconds();
    } catch (std::exception const&) {
        cost.seconds = cost.exposed_s;  // a device without timing: no less than what was waited for
    }
    return cost;
}

}  // namespace osora::worker
