#include "worker/parallel/stop_vote.hpp"

#include <ATen/ops/full.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <exception>

namespace osora::worker {

struct StopVote::Impl {
    std::optional<Group> group;
    Vote own = Vote::go_on;
    std::vector<at::Tensor> votes;  // one tensor of one number: the maximum over ranks
    c10::intrusive_ptr<c10d::Work> work;
    std::string failed_to_start;
};

StopVote::StopVote(std::optional<Group> group) : impl_(std::make_unique<Impl>()) {
    if (group && group->world_size() > 1) impl_->group = std::move(group);
}
StopVote::~StopVote() = default;
StopVote::StopVote(StopVote&&) noexcept = default;

void StopVote::begin(Vote own) {
    impl_->own = own;
    if (!impl_->group) return;
    impl_->votes = {at::full({1}, static_cast<double>(own))};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    try {
        impl_->work = impl_->group->backend().allreduce(impl_->votes, options);
    } catch (std::exception const& error) {
        impl_->failed_to_start = error.what();
    }
}

Result<Vote> StopVote::finish() {
    if (!impl_->group) return impl_->own;
    if (!impl_->failed_to_start.empty()) {
        return Error{Errc::unreachable, "stop vote: " + impl_->failed_to_start};
    }
    try {
        impl_->work->wait();
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("stop vote: ") + error.what()};
    }
    return static_cast<Vote>(static_cast<int>(impl_->votes.front().item<float>()));
}

}  // namespace osora::worker
