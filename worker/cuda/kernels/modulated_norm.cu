// LayerNorm without weights, then scale and shift (adaLN), in one pass over the rows each way.
#include "worker/cuda/kernels/rows.cuh"

namespace osora::worker::kernels {
namespace {

constexpr float kEps = 1e-6f;

/// A block normalises one row; a thread has one vector of it.
template <typename T>
__global__ void modulate(Modulate const args) {
    constexpr int kCount = Packed<T>::kCount;
    __shared__ float2 place[2][32];
    std::int64_t const row = blockIdx.x, hidden = args.rows.hidden;
    std::int64_t const at = std::int64_t{threadIdx.x} * kCount;
    bool const mine = at < hidden;
    float x[kCount] = {}, scale[kCount], shift[kCount];
    if (mine) read(static_cast<T const*>(args.x) + row * hidden + at, x);
    float2 sum = make_float2(0, 0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum.x += x[i];
    float const mean = block_sum(sum, place, 0).x / hidden;
    sum = make_float2(0, 0);
    if (mine) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum.x += (x[i] - mean) * (x[i] - mean);
    }
    float const rstd = rsqrtf(block_sum(sum, place, 1).x / hidden + kEps);
    if (threadIdx.x == 0) {
        args.mean[row] = mean;
        args.rstd[row] = rstd;
    }
    if (!mine) return;
    std::int64_t const group = row / args.rows.per_group * hidden + at;
    read(static_cast<T const*>(args.scale1) + group, scale);
    read(static_cast<T const*>(args.shift) + group, shift);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = fmaf((x[i] - mean) * rstd, scale[i], shift[i]);
    write(static_cast<T*>(args.out) + place_of(args.out_rows, row) + at, x);
}

/// Block (chunk, group): rows of one chunk of a group, one after the other.
template <typename T>
__global__ void modulate_backward(ModulateBackward const args) {
    constexpr int kCount = Packed<T>::kCount;
    __shared__ float2 place[2][32];
    std::int64_t const hidden = args.rows.hidden, at = std::int64_t{threadIdx.x} * kCount;
    std::int64_t const each = (args.rows.per_group + args.rows.chunks - 1) / args.rows.chunks;
    std::int64_t const first = blockIdx.x * each;
    std::int64_t const last = min(first + each, args.rows.per_group);
    bool const mine = at < hidden;
    float scale[kCount] = {}, of_shift[kCount] = {}, of_scale[kCount] = {};
    if (mine) read(static_cast<T const*>(args.scale1) + blockIdx.y * hidden + at, scale);
    Packed<T> next_grad = {}, next_x = {};  // read while the row before is computed
    auto const fetch = [&](std::int64_t i) {
        if (!mine || i >= last) return;
        std::int64_t const row = blockIdx.y * args.rows.per_group + i;
        next_grad =
            packed_at(static_cast<T const*>(args.grad) + place_of(args.grad_rows, row) + at);
        next_x = packed_at(static_cast<T const*>(args.x) + row * hidden + at);
    };
    fetch(first);
    for (std::int64_t i = first; i < last; ++i) {
        std::int64_t const row = blockIdx.y * args.rows.per_group + i;
        float grad[kCount], unit[kCount];
        unpack(next_grad, grad);
        unpack(next_x, unit);
        fetch(i + 1);
        float const mean = args.mean[row], rstd = args.rstd[row];
        float2 sum = make_float2(0, 0);
        if (mine) {
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                unit[k] = (unit[k] - mean) * rstd;
                of_shift[k] += grad[k];
                of_scale[k] += grad[k] * unit[k];
                grad[k] *= scale[k];
                sum.x += grad[k];
                sum.y += grad[k] * unit[k];
            }
        }
        float2 const all = block_sum(sum, place, static_cast<int>(i - first));
        if (!mine) continue;
        float const of_mean = all.x / hidden, of_unit = all.y / hidden;
#pragma unroll
        for (int k = 0; k < kCount; ++k) grad[k] = rstd * (grad[k] - of_mean - unit[k] * of_unit);
        write(static_cast<T*>(args.grad_x) + row * hidden + at, grad);
    }
    if (!mine) return;
    float* const sums = args.sums + (blockIdx.y * args.rows.chunks + blockIdx.x) * 2 * hidden + at;
    write_floats(sums, of_shift);
    write_floats(sums + hidden, of_scale);
}

template <typename T>
unsigned threads(Rows const& rows) {
    auto const vectors = static_cast<unsigned>(rows.hidden / Packed<T>::kCount);
    return (vectors + 31) / 32 * 32;
}

template <typename T>
void start(Modulate const& what, cudaStream_t stream) {
    auto const blocks = static_cast<unsigned>(what.rows.count);
    modulate<T><<<blocks, threads<T>(what.rows), 0, stream>>>(what);
}
template <typename T>
void start(ModulateBackward const& what, cudaStream_t stream) {
    dim3 const blocks(static_cast<unsigned>(what.rows.chunks),
                      static_cast<unsigned>(what.rows.count / what.rows.per_group));
    modulate_backward<T><<<blocks, threads<T>(what.rows), 0, stream>>>(what);
}

}  // namespace

void launch(Modulate const& what, Number number, cudaStream_t stream) {
    with_type(number, [&](auto type) { start<decltype(type)>(what, stream); });
}
void launch(ModulateBackward const& what, Number number, cudaStream_t stream) {
    with_type(number, [&](auto type) { start<decltype(type)>(what, stream); });
}

}  // namespace osora::worker::kernels
