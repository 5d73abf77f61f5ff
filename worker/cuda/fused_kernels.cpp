#include "worker/cuda/fused_kernels.hpp"

#include "worker/cuda/kernels/launch.hpp"
#include "worker/model/fused/fused_kernels.hpp"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

namespace osora::worker {
namespace {

kernels::Number number_of(at::Tensor const& x) {
    if (x.scalar_type() == at::kBFloat16) return kernels::Number::bf16;
    return x.scalar_type() == at::kHalf ? kernels::Number::fp16 : kernels::Number::fp32;
}

float* floats(at::Tensor const& x) {
    return x.defined() ? x.mutable_data_ptr<float>() : nullptr;
}

kernels::RowStrides strides_of(at::Tensor const& x) {
    return {x.size(1), x.size(2), x.stride(0), x.stride(1), x.stride(2)};
}

/// `sums`: (groups, chunks, ...); undefined in a forward pass.
kernels::Rows rows_of(at::Tensor const& x, at::Tensor const& groups, at::Tensor const& sums) {
    std::int64_t const hidden = x.size(3), count = x.numel() / hidden;
    return {count, count / groups.size(0), hidden, sums.defined() ? sums.size(1) : 1};
}

kernels::Heads heads_of(at::Tensor const& x, at::Tensor const& turns, at::Tensor const& sums) {
    return {.tokens = x.size(0),
            .stride = x.stride(0),
            .parts = static_cast<int>(x.size(1)),
            .heads = static_cast<int>(x.size(2)),
            .dim = static_cast<int>(x.size(3)),
            .frames = turns.defined() ? turns.size(0) : 1,
            .blocks = sums.defined() ? static_cast<int>(sums.size(0)) : 1};
}

void* data_of(at::Tensor const& x) {
    return x.defined() ? x.mutable_data_ptr() : nullptr;
}

template <typename What>
void start(What const& what, at::Tensor const& x) {
    kernels::launch(what, number_of(x), c10::cuda::getCurrentCUDAStream(x.get_device()));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void modulate(ModulateCall const& call) {
    start(kernels::Modulate{call.x.const_data_ptr(), call.shift.const_data_ptr(),
                            call.scale1.const_data_ptr(), data_of(call.out), strides_of(call.out),
                            floats(call.mean), floats(call.rstd), rows_of(call.x, call.shift, {})},
          call.x);
}

void modulate_backward(ModulateBackwardCall const& call) {
    start(kernels::ModulateBackward{call.grad.const_data_ptr(), call.x.const_data_ptr(),
                                    call.scale1.const_data_ptr(), strides_of(call.grad),
                                    floats(call.mean), floats(call.rstd), data_of(call.grad_x),
                                    floats(call.sums), rows_of(call.x, call.scale1, call.sums)},
          call.x);
}

void gate(GateCall const& call) {
    start(
        kernels::Gate{call.x.const_data_ptr(), call.gate.const_data_ptr(), call.y.const_data_ptr(),
                      strides_of(call.y), data_of(call.out), rows_of(call.x, call.gate, {})},
        call.x);
}

void gate_backward(GateBackwardCall const& call) {
    start(kernels::GateBackward{call.grad.const_data_ptr(), call.gate.const_data_ptr(),
                                call.y.const_data_ptr(), strides_of(call.y), data_of(call.grad_y),
                                floats(call.sums), rows_of(call.grad, call.gate, call.sums)},
          call.grad);
}

void head_norm(HeadNormCall const& call) {
    start(kernels::HeadNorm{call.x.const_data_ptr(),
                            call.weight.const_data_ptr(),
                            floats(call.turns),
                            {data_of(call.out[0]), data_of(call.out[1])},
                            heads_of(call.x, call.turns, {})},
          call.x);
}

void head_norm_backward(HeadNormBackwardCall const& call) {
    start(kernels::HeadNormBackward{{data_of(call.grad[0]), data_of(call.grad[1])},
                                    call.x.const_data_ptr(),
                                    call.weight.const_data_ptr(),
                                    floats(call.turns),
                                    data_of(call.grad_x),
                                    floats(call.sums),
                                    heads_of(call.x, call.turns, call.sums)},
          call.x);
}

}  // namespace

FusedKernels const& fused_cuda_kernels() {
    static constexpr FusedKernels kKernels{at::kCUDA,      &modulate,  &modulate_backward, &gate,
                                           &gate_backward, &head_norm, &head_norm_backward};
    return kKernels;
}

}  // namespace osora::worker
