#include "worker/memory/side_copies.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>

#include <utility>

namespace osora::worker {

void ArrivingValues::wait() const {
    c10::Device const device = values.device();
    done.block(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

SideCopies::SideCopies(c10::Device device)
    : device_(device), guard_(device.type()), stream_(guard_.getStreamFromGlobalPool(device)) {}

c10::Event SideCopies::copy(at::Tensor const& to, at::Tensor const& from) {
    // Values that are read, and memory that is written, may be in use by what is queued.
    c10::Event queued(device_.type());
    queued.record(guard_.getStream(device_));
    queued.block(stream_);
    {
        c10::StreamGuard const beside(stream_);
        to.copy_(from, /*non_blocking=*/true);
    }
    c10::Event done(device_.type());
    done.record(stream_);
    return done;
}

void SideCopies::to_host(at::Tensor const& to, at::Tensor const& from) {
    std::lock_guard const lock(mutex_);
    auto done = copy(to, from);
    held_.push_back({from.storage(), std::move(done)});
    release_all_but(kHeldMax);
}

void SideCopies::release() {
    std::lock_guard const lock(mutex_);
    release_all_but(0);
}

void SideCopies::release_all_but(std::size_t count) {
    c10::Stream const passes = guard_.getStream(device_);
    for (; held_.size() > count; held_.pop_front()) held_.front().done.block(passes);
}

ArrivingValues SideCopies::to_device(at::Tensor const& from, at::TensorOptions options) {
    std::lock_guard const lock(mutex_);
    at::Tensor values = at::empty(from.sizes(), options);
    auto done = copy(values, from);
    return {std::move(values), std::move(done)};
}

}  // namespace osora::worker
