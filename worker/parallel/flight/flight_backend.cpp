// Gloo completes a work's future on its own thread: the end is recorded there, or by wait() if
// there is none. NCCL's works are polled on demand; wait() only queues after them.
#include "worker/parallel/flight/flight_backend.hpp"

#include <ATen/core/ivalue_inl.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace osora::worker {
namespace {

using Tensors = std::vector<at::Tensor>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// A collective counts as failed unless its end is recorded otherwise.
class Ending {
public:
    Ending(FlightRecorder& recorder, std::uint64_t ticket) : recorder_(recorder), ticket_(ticket) {}
    Ending(Ending const&) = delete;
    Ending& operator=(Ending const&) = delete;
    ~Ending() {
        if (failed_) recorder_.ended(ticket_, false);
    }
    void goes_on() { failed_ = false; }

private:
    FlightRecorder& recorder_;
    std::uint64_t ticket_;
    bool failed_ = true;
};

/// Hands on what callers of c10d::Work use, and notes the end of the collective.
class FlightWork final : public c10d::Work {
public:
    FlightWork(WorkPtr inner, std::shared_ptr<FlightRecorder> recorder, std::uint64_t ticket,
               bool waits_for_the_end)
        : c10d::Work(-1, inner->retrieveOpType()),
          inner_(std::move(inner)),
          recorder_(std::move(recorder)),
          ticket_(ticket),
          waits_for_the_end_(waits_for_the_end) {}

    bool wait(std::chrono::milliseconds timeout) override {
        Ending ending(*recorder_, ticket_);
        bool const done = inner_->wait(timeout);
        ending.goes_on();
        if (waits_for_the_end_) recorder_->ended(ticket_, true);
        return done;
    }
    bool isCompleted() override { return inner_->isCompleted(); }
    bool isSuccess() const override { return inner_->isSuccess(); }
    std::exception_ptr exception() const override { return inner_->exception(); }
    int sourceRank() const override { return inner_->sourceRank(); }
    Tensors result() override { return inner_->result(); }
    void synchronize() override { inner_->synchronize(); }
    void blockCurrentStream() override { inner_->blockCurrentStream(); }
    void abort() override { inner_->abort(); }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return inner_->getFuture(); }
    c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override {
        return inner_->getFutureResult();
    }
    float getDuration() const override { return inner_->getDuration(); }
    uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }

private:
    WorkPtr inner_;
    std::shared_ptr<FlightRecorder> recorder_;
    std::uint64_t ticket_;
    bool waits_for_the_end_;
};

/// Works whose ends are not reported.
class Asked {
public:
    void add(std::uint64_t ticket, WorkPtr work) {
        std::scoped_lock const lock(mutex_);
        works_.emplace_back(ticket, std::move(work));
    }
    /// They end in order.
    void refresh(FlightRecorder& recorder) {
        std::scoped_lock const lock(mutex_);
        while (!works_.empty() && works_.front().second->isCompleted()) {
            recorder.ended(works_.front().first, works_.front().second->isSuccess());
            works_.pop_front();
        }
    }

private:
    std::mutex mutex_;
    std::deque<std::pair<std::uint64_t, WorkPtr>> works_;
};

class FlightBackend final : public c10d::Backend {
public:
    FlightBackend(c10::intrusive_ptr<c10d::Backend> inner, std::shared_ptr<FlightRecorder> recorder,
                  std::string const& name, std::vector<int> const& ranks)
        : c10d::Backend(inner->getRank(), inner->getSize()),
          inner_(std::move(inner)),
          recorder_(std::move(recorder)),
          name_(name),
          ranks_(ranks),
          asks_(inner_->getBackendName() == "nccl"),
          channel_(
              recorder_->add_channel(fmt::format("{} {}", name, inner_->getBackendName()), ranks)) {
        if (!asks_) return;
        asked_ = std::make_shared<Asked>();
        recorder_->refresh_with(
            [asked = asked_, recorder = recorder_.get()] { asked->refresh(*recorder); });
    }

    std::string const getBackendName() const override { return inner_->getBackendName(); }
    c10::intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
    bool supportsSplitting() const override { return inner_->supportsSplitting(); }
    bool supportsCoalescing() const override { return inner_->supportsCoalescing(); }
    void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
    void enableCollectivesTiming() override { inner_->enableCollectivesTiming(); }
    c10::intrusive_ptr<Backend> split(c10::intrusive_ptr<c10d::Store> const& store,
                                      std::vector<int> const& ranks,
                                      c10::intrusive_ptr<Options> const& options) override {
        return inner_->split(store, ranks, options);
    }
    void startCoalescing() override {
        together_ = true;
        inner_->startCoalescing();
    }
    WorkPtr endCoalescing() override {
        together_ = false;
        auto const tickets = std::exchange(coalesced_, {});
        WorkPtr work = inner_->endCoalescing();
        if (!asked_ || !work) return work;
        for (auto const ticket : tickets) asked_->add(ticket, work);
        return work;
    }

    WorkPtr broadcast(Tensors& tensors, c10d::BroadcastOptions const& options) override {
        return note("broadcast", first(tensors),
                    [&] { return inner_->broadcast(tensors, options); });
    }
    WorkPtr allreduce(Tensors& tensors, c10d::AllreduceOptions const& options) override {
        return note("all_reduce", first(tensors),
                    [&] { return inner_->allreduce(tensors, options); });
    }
    WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                            c10d::AllgatherOptions const& options) override {
        return note("all_gather", &input,
                    [&] { return inner_->_allgather_base(output, input, options); });
    }
    WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                 c10d::ReduceScatterOptions const& options) override {
        return note("reduce_scatter", &input,
                    [&] { return inner_->_reduce_scatter_base(output, input, options); });
    }
    WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& to,
                          std::vector<int64_t>& from,
                          c10d::AllToAllOptions const& options) override {
        // Parts of other sizes for each rank: nothing to compare.
        bool const even = to.empty() && from.empty();
        return note("all_to_all", even ? &input : nullptr,
                    [&] { return inner_->alltoall_base(output, input, to, from, options); });
    }
    WorkPtr barrier(c10d::BarrierOptions const& options) override {
        return note("barrier", nullptr, [&] { return inner_->barrier(options); });
    }
    WorkPtr send(Tensors& tensors, int to, int tag) override {
        auto call = call_of("send", first(tensors));
        call.channel = pair(getRank(), to);
        call.one_sided = true;
        return note(call, [&] { return inner_->send(tensors, to, tag); });
    }
    WorkPtr recv(Tensors& tensors, int from, int tag) override {
        auto call = call_of("recv", first(tensors));
        call.channel = pair(from, getRank());
        return note(call, [&] { return inner_->recv(tensors, from, tag); });
    }

private:
    static at::Tensor const* first(Tensors const& tensors) {
        return tensors.empty() ? nullptr : &tensors.front();
    }

    FlightRecorder::Call call_of(char const* operation, at::Tensor const* tensor) const {
        FlightRecorder::Call call{.channel = channel_, .operation = operation};
        if (tensor == nullptr) return call;
        call.bytes = static_cast<std::int64_t>(tensor->nbytes());
        call.dtype = c10::toString(tensor->scalar_type());
        return call;
    }

    /// One direction of two ranks, numbered as the group numbers them.
    int pair(int from, int to) {
        std::scoped_lock const lock(mutex_);
        auto const known = pairs_.find({from, to});
        if (known != pairs_.end()) return known->second;
        int const a = ranks_.at(static_cast<std::size_t>(from));
        int const b = ranks_.at(static_cast<std::size_t>(to));
        int const made = recorder_->add_channel(
            fmt::format("{} {}>{} {}", name_, a, b, getBackendName()), {a, b});
        pairs_.emplace(std::pair(from, to), made);
        return made;
    }

    template <class Start>
    WorkPtr note(char const* operation, at::Tensor const* tensor, Start const& start) {
        return note(call_of(operation, tensor), start);
    }

    template <class Start>
    WorkPtr note(FlightRecorder::Call const& call, Start const& start) {
        if (asked_) asked_->refresh(*recorder_);
        auto const ticket = recorder_->started(call);
        Ending ending(*recorder_, ticket);
        WorkPtr work = start();
        ending.goes_on();
        if (asked_ && together_) {  // they end with the work of endCoalescing()
            coalesced_.push_back(ticket);
            return work;
        }
        if (!work) return work;
        if (asked_) {
            asked_->add(ticket, work);
        } else {
            note_end(*work, ticket);
        }
        return c10::make_intrusive<FlightWork>(std::move(work), recorder_, ticket, !asks_);
    }

    /// Not every work has a future.
    void note_end(c10d::Work& work, std::uint64_t ticket) {
        try {
            auto const future = work.getFuture();
            if (!future) return;
            future->addCallback(
                [recorder = recorder_, ticket](c10::ivalue::Future& ended) {
                    recorder->ended(ticket, !ended.hasError());
                },
                /*uses_future=*/false);
        } catch (std::exception const&) {}
    }

    c10::intrusive_ptr<c10d::Backend> inner_;
    std::shared_ptr<FlightRecorder> recorder_;
    std::string name_;
    std::vector<int> ranks_;
    bool asks_;
    int channel_;
    std::shared_ptr<Asked> asked_;  // NCCL
    bool together_ = false;         // between startCoalescing() and endCoalescing()
    std::vector<std::uint64_t> coalesced_;
    std::mutex mutex_;
    std::map<std::pair<int, int>, int> pairs_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> recorded(c10::intrusive_ptr<c10d::Backend> backend,
                                           std::shared_ptr<FlightRecorder> recorder,
                                           std::string const& name, std::vector<int> const& ranks) {
    return c10::make_intrusive<FlightBackend>(std::move(backend), std::move(recorder), name, ranks);
}

}  // namespace osora::worker
