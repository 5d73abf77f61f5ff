// Sends are kept until their peer must have received them: a stage has received as many tensors as
// gradients have come back. Gradients, of tokens and of conditions, are kept for as many passes as
// a stage may lag.
#include "worker/parallel/pipeline_ranks.hpp"

#include "worker/parallel/with_peers.hpp"

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstdlib>
#include <utility>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTag = 0;  // what goes between two ranks is received in its order

void finish_oldest(auto& pending, std::size_t most) {
    while (pending.size() > most) {
        with_peers("send to a stage", [&] { pending.front().work->wait(); });
        pending.pop_front();
    }
}

}  // namespace

PipelineRanks::PipelineRanks(Direction forward, Direction backward, int virtual_stages, bool eager)
    : forward_{std::move(forward)},
      backward_{std::move(backward)},
      virtual_stages_(virtual_stages),
      eager_(eager) {}

Group const& PipelineRanks::Way::between(int one, int other) const {
    bool const ends = groups.ends && std::abs(one - other) + 1 == groups.ends->world_size();
    return ends ? *groups.ends : groups.neighbours;
}

void PipelineRanks::send(Way& way, at::Tensor const& values, int step) {
    int const to = stage_at(step);
    std::vector<at::Tensor> tensors{values};
    auto& backend = way.between(rank(), to).device_backend();
    auto work = with_peers("send to a stage", [&] { return backend.send(tensors, to, kTag); });
    way.sent.push_back({std::move(work), values});
}

void PipelineRanks::receive(Way& way, at::Tensor const& into, int step) {
    int const from = stage_at(step);
    auto& backend = way.between(rank(), from).device_backend();
    auto const start = Clock::now();
    std::vector<at::Tensor> tensors{into};
    with_peers("receive from a stage", [&] { backend.recv(tensors, from, kTag)->wait(); });
    if (backend.getBackendName() != "nccl")
        waited_s_ += std::chrono::duration<double>(Clock::now() - start).count();
    ++calls_;
    bytes_ += static_cast<std::int64_t>(into.nbytes());
}

void PipelineRanks::send_forward(at::Tensor const& x) {
    send(forward_, x, 1);
}

void PipelineRanks::receive_forward(at::Tensor const& into) {
    receive(forward_, into, -1);
}

void PipelineRanks::send_backward(at::Tensor const& gradient) {
    send(backward_, gradient, -1);
    finish_oldest(backward_.sent, static_cast<std::size_t>(4 * virtual_stages_ * size()));
}

void PipelineRanks::receive_backward(at::Tensor const& into) {
    receive(backward_, into, 1);
    auto& sent = forward_.sent;
    finish_oldest(sent, sent.empty() ? 0 : sent.size() - 1);
}

void PipelineRanks::finish_sends() {
    finish_oldest(forward_.sent, 0);
    finish_oldest(backward_.sent, 0);
}

void PipelineRanks::begin_step() {
    finish_sends();
    calls_ = bytes_ = 0;
    waited_s_ = 0;
}

double PipelineRanks::waited_s() const {
    return waited_s_;
}

std::vector<protocol::CollectiveCost> PipelineRanks::costs() const {
    if (calls_ == 0) return {};
    return {{.name = "stages receive",
             .collective = "send_recv",
             .backend = forward_.groups.neighbours.device_backend().getBackendName(),
             .ranks = size(),
             .calls = calls_,
             .bytes = bytes_,
             .seconds = waited_s_,
             .exposed_s = waited_s_}};
}

}  // namespace osora::worker
