#include "worker/parallel/stop_vote.hpp"

#include "worker/parallel/collective_timer.hpp"

#include <ATen/ops/full.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <exception>

namespace osora::worker {

struct StopVote::Impl {
    std::optional<Group> group;
    Vote own = Vote::go_on;
    std::vector<at::Tensor> votes;  // one tensor of one number: the maximum over ranks
    c10::intrusive_ptr<c10d::Work> work;
    std::string failed_to_start;
    std::optional<CollectiveTimer> timer;  // with the group
    double waited_s = 0;
};

StopVote::StopVote(std::optional<Group> group) : impl_(std::make_unique<Impl>()) {
    if (group && group->world_size() > 1) {
        impl_->timer.emplace("stop vote", "all_reduce", group->backend());
        impl_->group = std::move(group);
    }
}
StopVote::~StopVote() = default;
StopVote::StopVote(StopVote&&) noexcept = default;

void StopVote::begin(Vote own) {
    impl_->own = own;
    if (!impl_->group) return;
    impl_->timer->begin();
    impl_->votes = {at::full({1}, static_cast<double>(own))};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    try {
        auto const start = CollectiveTimer::Clock::now();
        impl_->work = impl_->group->backend().allreduce(impl_->votes, options);
        auto const bytes = static_cast<std::int64_t>(impl_->votes.front().nbytes());
        impl_->timer->started(start, impl_->work, bytes);
    } catch (std::exception const& error) {
        impl_->failed_to_start = error.what();
    }
}

Result<Vote> StopVote::finish() {
    if (!impl_->group) return impl_->own;
    if (!impl_->failed_to_start.empty()) {
        return Error{Errc::unreachable, "stop vote: " + impl_->failed_to_start};
    }
    auto const begin = CollectiveTimer::Clock::now();
    try {
        impl_->work->wait();
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("stop vote: ") + error.what()};
    }
    std::chrono::duration<double> const waited = CollectiveTimer::Clock::now() - begin;
    impl_->waited_s = waited.count();
    return static_cast<Vote>(static_cast<int>(impl_->votes.front().item<float>()));
}

std::optional<protocol::CollectiveCost> StopVote::cost() const {
    if (!impl_->timer) return std::nullopt;
    return impl_->timer->cost(impl_->waited_s);
}

}  // namespace osora::worker
