#include "worker/parallel/stop_vote.hpp"

#include "worker/parallel/collective_timer.hpp"
#include "worker/parallel/flight/flight_recorder.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>
#include <string>

namespace osora::worker {

struct StopVote::Impl {
    std::optional<Group> group;
    Vote own = Vote::go_on;
    StepTerms terms;
    // One tensor: vote, numbers_of(terms), append_numbers(clips); then the maxima over ranks.
    std::vector<at::Tensor> votes;
    c10::intrusive_ptr<c10d::Work> work;
    std::optional<CollectiveTimer> timer;  // with the group
    double waited_s = 0;
    std::optional<Result<Vote>> said;

    [[nodiscard]] Result<Vote> decide();
    [[nodiscard]] Result<Vote> disagreement();
};

StopVote::StopVote(std::optional<Group> group) : impl_(std::make_unique<Impl>()) {
    if (group && group->world_size() > 1) {
        impl_->timer.emplace("stop vote", "all_reduce", group->backend());
        impl_->group = std::move(group);
    }
}
StopVote::~StopVote() = default;
StopVote::StopVote(StopVote&&) noexcept = default;

void StopVote::begin(Vote own, StepTerms const& terms, SharedClips const& clips) {
    impl_->own = own;
    impl_->terms = terms;
    impl_->said.reset();
    if (!impl_->group) return;
    impl_->timer->begin();
    std::vector<double> numbers{static_cast<double>(own)};
    for (double const each : numbers_of(terms)) numbers.push_back(each);
    append_numbers(clips, numbers);
    impl_->votes = {at::tensor(numbers, at::kDouble)};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    FlightRecorder::Label const label("stop vote");
    try {
        auto const start = CollectiveTimer::Clock::now();
        impl_->work = impl_->group->backend().allreduce(impl_->votes, options);
        auto const bytes = static_cast<std::int64_t>(impl_->votes.front().nbytes());
        impl_->timer->started(start, impl_->work, bytes);
    } catch (std::exception const& error) {
        impl_->said = Error{Errc::unreachable, std::string("stop vote: ") + error.what()};
    }
}

/// All ranks see the same maxima, so all of them come here or none.
Result<Vote> StopVote::Impl::disagreement() {
    auto const own_bytes = packed(terms);
    auto const bytes = static_cast<std::int64_t>(own_bytes.size());
    at::Tensor own_terms = at::empty({bytes}, at::kByte);
    std::ranges::copy(own_bytes, own_terms.data_ptr<std::uint8_t>());
    at::Tensor all = at::empty({group->world_size() * bytes}, at::kByte);
    FlightRecorder::Label const label("terms of a step");
    group->backend()._allgather_base(all, own_terms)->wait();
    std::vector<StepTerms> of_ranks;
    std::span<std::uint8_t const> rest(all.data_ptr<std::uint8_t>(),
                                       static_cast<std::size_t>(all.numel()));
    for (; !rest.empty(); rest = rest.subspan(kTermBytes))
        of_ranks.push_back(unpacked(rest.first<kTermBytes>()));
    return Error{Errc::invalid_input, describe_terms(of_ranks)};
}

Result<Vote> StopVote::Impl::decide() {
    auto const begin = CollectiveTimer::Clock::now();
    try {
        work->wait();
        std::chrono::duration<double> const waited = CollectiveTimer::Clock::now() - begin;
        waited_s = waited.count();
        std::span<double const> const numbers(votes.front().data_ptr<double>(),
                                              static_cast<std::size_t>(votes.front().numel()));
        if (!agree(numbers.subspan<1, kTermNumbers>())) return disagreement();
        auto const other = describe_other_clips(numbers.subspan(1 + kTermNumbers), terms.step);
        if (!other.empty()) return Error{Errc::unreachable, other};
        return static_cast<Vote>(static_cast<int>(numbers[0]));
    } catch (std::exception const& error) {
        std::string const why = error.what();
        return Error{Errc::unreachable, "stop vote: " + why.substr(0, why.find('\n'))};
    }
}

Result<Vote> StopVote::finish() {
    if (!impl_->group) return impl_->own;
    if (!impl_->said) impl_->said = impl_->decide();
    return *impl_->said;
}

std::optional<protocol::CollectiveCost> StopVote::cost() const {
    if (!impl_->timer) return std::nullopt;
    return impl_->timer->cost(impl_->waited_s);
}

}  // namespace osora::worker
