// x + gate * y, where rows of x share a row of the gate.
#include "worker/cuda/kernels/rows.cuh"

namespace osora::worker::kernels {
namespace {

constexpr unsigned kThreads = 256;

template <typename T>
__global__ void gate(Gate const args) {
    constexpr int kCount = Packed<T>::kCount;
    std::int64_t const hidden = args.rows.hidden;
    std::int64_t const number = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kCount;
    std::int64_t const row = number / hidden, at = number % hidden;
    if (row >= args.rows.count) return;
    float x[kCount], y[kCount], by[kCount];
    read(static_cast<T const*>(args.x) + number, x);
    read(static_cast<T const*>(args.y) + place_of(args.y_rows, row) + at, y);
    read(static_cast<T const*>(args.gate) + row / args.rows.per_group * hidden + at, by);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = fmaf(by[i], y[i], x[i]);
    write(static_cast<T*>(args.out) + number, x);
}

/// Block (chunk, group); a thread has one vector of each row.
template <typename T>
__global__ void gate_backward(GateBackward const args) {
    constexpr int kCount = Packed<T>::kCount;
    std::int64_t const hidden = args.rows.hidden, at = std::int64_t{threadIdx.x} * kCount;
    if (at >= hidden) return;
    std::int64_t const each = (args.rows.per_group + args.rows.chunks - 1) / args.rows.chunks;
    std::int64_t const first = blockIdx.x * each;
    std::int64_t const last = min(first + each, args.rows.per_group);
    float by[kCount], of_gate[kCount] = {};
    read(static_cast<T const*>(args.gate) + blockIdx.y * hidden + at, by);
#pragma unroll 2
    for (std::int64_t i = first; i < last; ++i) {
        std::int64_t const row = blockIdx.y * args.rows.per_group + i;
        std::int64_t const place = place_of(args.y_rows, row) + at;
        float grad[kCount], y[kCount];
        read(static_cast<T const*>(args.grad) + row * hidden + at, grad);
        read(static_cast<T const*>(args.y) + place, y);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            of_gate[k] += grad[k] * y[k];
            grad[k] *= by[k];
        }
        write(static_cast<T*>(args.grad_y) + place, grad);
    }
    write_floats(args.sums + (blockIdx.y * args.rows.chunks + blockIdx.x) * hidden + at, of_gate);
}

template <typename T>
void start(Gate const& what, cudaStream_t stream) {
    std::int64_t const vectors = what.rows.count * what.rows.hidden / Packed<T>::kCount;
    auto const blocks = static_cast<unsigned>((vectors + kThreads - 1) / kThreads);
    gate<T><<<blocks, kThreads, 0, stream>>>(what);
}
template <typename T>
void start(GateBackward const& what, cudaStream_t stream) {
    dim3 const blocks(static_cast<unsigned>(what.rows.chunks),
                      static_cast<unsigned>(what.rows.count / what.rows.per_group));
    auto const vectors = static_cast<unsigned>(what.rows.hidden / Packed<T>::kCount);
    gate_backward<T><<<blocks, (vectors + 31) / 32 * 32, 0, stream>>>(what);
}

}  // namespace

void launch(Gate const& what, Number number, cudaStream_t stream) {
    with_type(number, [&](auto type) { start<decltype(type)>(what, stream); });
}
void launch(GateBackward const& what, Number number, cudaStream_t stream) {
    with_type(number, [&](auto type) { start<decltype(type)>(what, stream); });
}

}  // namespace osora::worker::kernels
