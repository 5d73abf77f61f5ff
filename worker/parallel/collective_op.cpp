#include "worker/parallel/collective_op.hpp"

#include "base/check.hpp"

#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <utility>

namespace osora::worker {
namespace {

constexpr std::int64_t kItemBytes = 4;

std::int64_t up_to_multiple(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

CollectiveOp::CollectiveOp(std::string name, std::int64_t size_bytes, c10d::Backend& backend,
                           Device const& device)
    : name_(std::move(name)), backend_(backend), device_(device) {
    std::int64_t const ranks = backend.getSize();
    bool const shared = name_ == "all_gather" || name_ == "reduce_scatter";
    bool const exchanged = name_ == "all_to_all";
    size_bytes_ =
        up_to_multiple(size_bytes, shared || exchanged ? kItemBytes * ranks : kItemBytes);
    auto const options = at::TensorOptions().dtype(at::kFloat).device(device.torch());
    whole_ = at::zeros({size_bytes_ / kItemBytes}, options);
    if (shared) part_ = at::zeros({size_bytes_ / kItemBytes / ranks}, options);
    if (exchanged || name_ == "send_recv") part_ = at::zeros_like(whole_);
}

void CollectiveOp::run() {
    std::vector<at::Tensor> tensors{whole_};
    if (name_ == "all_reduce") {
        backend_.allreduce(tensors)->wait();
    } else if (name_ == "broadcast") {
        backend_.broadcast(tensors)->wait();
    } else if (name_ == "all_gather") {
        backend_._allgather_base(whole_, part_)->wait();
    } else if (name_ == "reduce_scatter") {
        backend_._reduce_scatter_base(part_, whole_)->wait();
    } else if (name_ == "all_to_all") {
        std::vector<std::int64_t> even;  // an equal share for each rank
        backend_.alltoall_base(part_, whole_, even, even)->wait();
    } else {
        OSORA_CHECK(name_ == "send_recv");
        send_and_receive();
    }
    device_.synchronize();
}

void CollectiveOp::send_and_receive() {
    int const rank = backend_.getRank();
    int const peer = rank ^ 1;
    if (peer >= backend_.getSize()) return;  // the odd one out
    std::vector<at::Tensor> out{whole_}, in{part_};
    // NCCL would wait for the peer's receive before this rank's is posted.
    bool const together = device_.is_gpu();
    if (together) backend_.startCoalescing();
    auto const sent = backend_.send(out, peer, 0);
    auto const received = backend_.recv(in, peer, 0);
    if (together) {
        backend_.endCoalescing()->wait();
        return;
    }
    sent->wait();
    received->wait();
}

}  // namespace osora::worker
