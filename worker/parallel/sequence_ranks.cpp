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
constexpr char const* kPass = "pass of keys and values";
}  // namespace

SequenceRanks::SequenceRanks(Group group, std::string const& what, AttentionForm form)
    : group_(std::move(group)),
      form_(form),
      exchanges_{CollectiveTimer(what + " all_to_all", "all_to_all", group_.device_backend())},
      gathers_{CollectiveTimer(what + " all_gather", "all_gather", group_.device_backend())},
      passes_{CollectiveTimer(what + " send_recv", "send_recv", group_.device_backend())} {}

bool SequenceRanks::on_gpu() const {
    return group_.device_backend().getBackendName() == "nccl";
}

void SequenceRanks::begin_step() {
    for (Class* each : {&exchanges_, &gathers_, &passes_}) {
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
    if (!on_gpu()) of.waited_s += std::chrono::duration<double>(Clock::now() - start).count();
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

/// Without wait(), works and tensors are kept until the backend drops them.
class SequenceRanks::Pass final : public RingRanks::Passing {
public:
    Pass(SequenceRanks& ranks, at::Tensor values, at::Tensor into)
        : ranks_(ranks), values_{std::move(values)}, into_{std::move(into)} {}

    void start() {
        auto& backend = ranks_.group_.device_backend();
        int const size = ranks_.size(), rank = ranks_.rank();
        auto const begin = Clock::now();
        bool const sends = values_[0].numel() > 0, receives = into_[0].numel() > 0;
        // NCCL would wait for the peer's receive before this rank's is posted.
        bool const together = ranks_.on_gpu() && sends && receives;
        if (together) backend.startCoalescing();
        if (sends) works_.push_back(backend.send(values_, (rank + 1) % size, kTag));
        if (receives) works_.push_back(backend.recv(into_, (rank + size - 1) % size, kTag));
        if (together) works_ = {backend.endCoalescing()};
        if (!receives) return;
        auto& passes = ranks_.passes_;
        call_ = passes.timer.count();
        passes.timer.started(begin, works_.back(), static_cast<std::int64_t>(into_[0].nbytes()));
        ++passes.calls;
    }

    void wait() override {
        auto const begin = Clock::now();
        with_peers(kPass, [&] {
            for (auto work = works_.rbegin(); work != works_.rend(); ++work) (*work)->wait();
        });
        if (ranks_.on_gpu()) return;
        if (into_[0].numel() > 0) ranks_.passes_.timer.ended(call_);
        ranks_.passes_.waited_s += std::chrono::duration<double>(Clock::now() - begin).count();
    }

private:
    static constexpr int kTag = 0;  // messages between two ranks arrive in their order

    SequenceRanks& ranks_;
    std::vector<at::Tensor> values_, into_;
    std::vector<c10::intrusive_ptr<c10d::Work>> works_;  // the receive last
    std::size_t call_ = 0;
};

std::unique_ptr<RingRanks::Passing> SequenceRanks::pass_on(at::Tensor const& values,
                                                           at::Tensor const& into) {
    auto pass = std::make_unique<Pass>(*this, values, into);
    with_peers(kPass, [&] { pass->start(); });
    return pass;
}

double SequenceRanks::waited_s() const {
    return exchanges_.waited_s + gathers_.waited_s + passes_.waited_s;
}

std::vector<protocol::CollectiveCost> SequenceRanks::costs() const {
    std::vector<protocol::CollectiveCost> costs;
    for (Class const* each : {&exchanges_, &gathers_, &passes_})
        if (each->calls > 0) costs.push_back(each->timer.cost(each->waited_s));
    return costs;
}

}  // namespace osora::worker
