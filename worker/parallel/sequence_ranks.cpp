#include "worker/parallel/sequence_ranks.hpp"

#include "worker/parallel/with_peers.hpp"

#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <numeric>
#include <utility>

namespace osora::worker {

using Clock = CollectiveTimer::Clock;

namespace {
constexpr char const* kExchange = "exchange of tokens";
}  // namespace

SequenceRanks::SequenceRanks(Group group, std::string const& what)
    : group_(std::move(group)),
      exchanges_{CollectiveTimer(what + " all_to_all", "all_to_all", group_.device_backend())},
      gathers_{CollectiveTimer(what + " all_gather", "all_gather", group_.device_backend())} {}

void SequenceRanks::begin_step() {
    for (Class* each : {&exchanges_, &gathers_}) {
        each->timer.begin();
        each->calls = 0;
        each->waited_s = 0;
    }
}

void SequenceRanks::wait(Class& of, Clock::time_point start,
                         c10::intrusive_ptr<c10d::Work> const& work, std::int64_t bytes) {
    of.timer.started(start, work, bytes);
    ++of.calls;
    with_peers(kExchange, [&] { work->wait(); });
    if (group_.device_backend().getBackendName() != "nccl")
        of.waited_s += std::chrono::duration<double>(Clock::now() - start).count();
}

at::Tensor SequenceRanks::all_to_all(at::Tensor const& values,
                                     std::vector<std::int64_t> const& send,
                                     std::vector<std::int64_t> const& receive) {
    std::int64_t const items = std::accumulate(receive.begin(), receive.end(), std::int64_t{0});
    at::Tensor received = at::empty({items}, values.options()), input = values;
    std::vector<std::int64_t> to = send, from = receive;
    auto const start = Clock::now();
    auto const work = with_peers(kExchange, [&] {
        return group_.device_backend().alltoall_base(received, input, from, to);
    });
    wait(exchanges_, start, work, static_cast<std::int64_t>(values.nbytes()));
    return received;
}

at::Tensor SequenceRanks::all_gather(at::Tensor const& own) {
    std::vector<std::int64_t> shape = own.sizes().vec();
    shape.insert(shape.begin(), size());
    at::Tensor all = at::empty({size() * own.numel()}, own.options()), input = own.view(-1);
    auto const start = Clock::now();
    auto const work =
        with_peers(kExchange, [&] { return group_.device_backend()._allgather_base(all, input); });
    wait(gathers_, start, work, static_cast<std::int64_t>(all.nbytes()));
    return all.view(shape);
}

double SequenceRanks::waited_s() const {
    return exchanges_.waited_s + gathers_.waited_s;
}

std::vector<protocol::CollectiveCost> SequenceRanks::costs() const {
    std::vector<protocol::CollectiveCost> costs;
    for (Class const* each : {&exchanges_, &gathers_})
        if (each->calls > 0) costs.push_back(each->timer.cost(each->waited_s));
    return costs;
}

}  // namespace osora::worker
