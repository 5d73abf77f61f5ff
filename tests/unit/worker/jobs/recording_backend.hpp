// A c10d backend that notes which collectives a rank asks for and hands them on.
#pragma once

#include "worker/parallel/process_group.hpp"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::worker {

class RecordingBackend : public c10d::Backend {
public:
    explicit RecordingBackend(Group const& group)
        : c10d::Backend(group.rank(), group.world_size()), group_(group) {}

    c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                             c10d::AllreduceOptions const& options) override {
        bool const max = options.reduceOp == c10d::ReduceOp::MAX;
        calls.push_back(
            fmt::format("all_reduce {} {} B", max ? "max" : "sum", tensors.at(0).nbytes()));
        return group_.backend().allreduce(tensors, options);
    }
    c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                                 std::vector<std::int64_t>& output_parts,
                                                 std::vector<std::int64_t>& input_parts,
                                                 c10d::AllToAllOptions const& options) override {
        calls.push_back(fmt::format("all_to_all {} B", input.nbytes()));
        return group_.backend().alltoall_base(output, input, output_parts, input_parts, options);
    }
    c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                   c10d::AllgatherOptions const& options) override {
        calls.push_back(fmt::format("all_gather {} B", input.nbytes()));
        return group_.backend()._allgather_base(output, input, options);
    }
    c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(
        at::Tensor& output, at::Tensor& input, c10d::ReduceScatterOptions const& options) override {
        calls.push_back(fmt::format("reduce_scatter {} B", input.nbytes()));
        return group_.backend()._reduce_scatter_base(output, input, options);
    }
    c10::intrusive_ptr<c10d::Work> barrier(c10d::BarrierOptions const& options) override {
        calls.emplace_back("barrier");
        return group_.backend().barrier(options);
    }
    std::string const getBackendName() const override { return "recording"; }

    std::vector<std::string> calls;

private:
    Group group_;
};

}  // namespace osora::worker
