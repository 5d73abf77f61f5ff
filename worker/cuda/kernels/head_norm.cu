// RMSNorm of the heads of q and k, and their rotation by frames, in one pass each way.
#include "worker/cuda/kernels/rows.cuh"

namespace osora::worker::kernels {
namespace {

constexpr int kThreads = 256;
constexpr float kEps = 1e-6f;

/// Over the `lanes` threads of a head.
__device__ inline float head_sum(float mine, int lanes) {
    for (int lane = lanes / 2; lane > 0; lane /= 2)
        mine += __shfl_xor_sync(0xffffffffu, mine, lane);
    return mine;
}

/// Turns each pair by its angle; `back`: by minus the angle.
template <int kCount>
__device__ void turn(float (&x)[kCount], float const* turns, bool back) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
        float const cos = turns[i], sin = back ? -turns[i + 1] : turns[i + 1];
        float const first = x[i] * cos - x[i + 1] * sin;
        x[i + 1] = x[i + 1] * cos + x[i] * sin;
        x[i] = first;
    }
}

/// Which head of which token a group of threads has, and where its numbers are.
struct Place {
    std::int64_t token, head;
    std::int64_t from, to, all;  // in x, in one part's result, in (tokens, parts, heads, dim)
};
__device__ inline Place place_of(Heads const& heads, std::int64_t number, int part, int at) {
    std::int64_t const token = number / heads.heads, head = number % heads.heads;
    std::int64_t const in_part = head * heads.dim + at;
    std::int64_t const width = std::int64_t{heads.heads} * heads.dim;
    return {token, head, token * heads.stride + part * width + in_part, token * width + in_part,
            (token * heads.parts + part) * width + in_part};
}

/// Block (number, part): kThreads / lanes heads at a time. Threads of a warp leave together.
template <typename T>
__global__ void head_norm(HeadNorm const args, int lanes) {
    constexpr int kCount = Packed<T>::kCount;
    Heads const& heads = args.heads;
    int const part = blockIdx.y, at = threadIdx.x % lanes * kCount;
    std::int64_t const all = heads.tokens * heads.heads;
    std::int64_t const number = std::int64_t{blockIdx.x} * (kThreads / lanes) + threadIdx.x / lanes;
    bool const mine = number < all && at < heads.dim;
    Place const place = place_of(heads, mine ? number : 0, part, at);
    float x[kCount] = {}, weight[kCount];
    if (mine) read(static_cast<T const*>(args.x) + place.from, x);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += x[i] * x[i];
    float const rstd = rsqrtf(head_sum(sum, lanes) / heads.dim + kEps);
    if (!mine) return;
    read(static_cast<T const*>(args.weight) + part * heads.dim + at, weight);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] *= rstd * weight[i];
    if (args.turns != nullptr)
        turn(x, args.turns + place.token % heads.frames * heads.dim + at, false);
    write(static_cast<T*>(part == 0 ? args.out[0] : args.out[1]) + place.to, x);
}

template <typename T>
__global__ void head_norm_backward(HeadNormBackward const args, int lanes) {
    constexpr int kCount = Packed<T>::kCount;
    extern __shared__ float shared[];  // (heads of a block, dim)
    Heads const& heads = args.heads;
    int const part = blockIdx.y, at = threadIdx.x % lanes * kCount;
    int const together = kThreads / lanes;
    std::int64_t const all = heads.tokens * heads.heads;
    bool const inside = at < heads.dim;
    auto const* const of_part = static_cast<T const*>(part == 0 ? args.grad[0] : args.grad[1]);
    float weight[kCount] = {}, of_weight[kCount] = {};
    if (inside) read(static_cast<T const*>(args.weight) + part * heads.dim + at, weight);
    for (std::int64_t base = std::int64_t{blockIdx.x} * together; base < all;
         base += std::int64_t{gridDim.x} * together) {
        std::int64_t const number = base + threadIdx.x / lanes;
        bool const mine = inside && number < all;
        Place const place = place_of(heads, mine ? number : 0, part, at);
        float x[kCount] = {}, grad[kCount] = {};
        if (mine) {
            read(static_cast<T const*>(args.x) + place.from, x);
            read(of_part + place.to, grad);
            if (args.turns != nullptr)
                turn(grad, args.turns + place.token % heads.frames * heads.dim + at, true);
        }
        float sum = 0;
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += x[i] * x[i];
        float const rstd = rsqrtf(head_sum(sum, lanes) / heads.dim + kEps);
        sum = 0;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            x[i] *= rstd;
            of_weight[i] += grad[i] * x[i];
            grad[i] *= weight[i];
            sum += grad[i] * x[i];
        }
        float const of_unit = head_sum(sum, lanes) / heads.dim;
        if (!mine) continue;
#pragma unroll
        for (int i = 0; i < kCount; ++i) grad[i] = rstd * (grad[i] - x[i] * of_unit);
        write(static_cast<T*>(args.grad_x) + place.all, grad);
    }
    if (inside) write_floats(shared + threadIdx.x / lanes * heads.dim + at, of_weight);
    __syncthreads();
    for (int i = threadIdx.x; i < heads.dim; i += kThreads) {
        float sum = 0;
        for (int head = 0; head < together; ++head) sum += shared[head * heads.dim + i];
        args.sums[(std::int64_t{blockIdx.x} * heads.parts + part) * heads.dim + i] = sum;
    }
}

/// The power of two that holds the vectors of a head.
template <typename T>
int lanes_of(Heads const& heads) {
    int lanes = 1;
    while (lanes * Packed<T>::kCount < heads.dim) lanes *= 2;
    return lanes;
}

template <typename T>
void start(HeadNorm const& what, cudaStream_t stream) {
    int const lanes = lanes_of<T>(what.heads);
    std::int64_t const each = kThreads / lanes;
    dim3 const blocks(
        static_cast<unsigned>((what.heads.tokens * what.heads.heads + each - 1) / each),
        static_cast<unsigned>(what.heads.parts));
    head_norm<T><<<blocks, kThreads, 0, stream>>>(what, lanes);
}
template <typename T>
void start(HeadNormBackward const& what, cudaStream_t stream) {
    int const lanes = lanes_of<T>(what.heads);
    dim3 const blocks(static_cast<unsigned>(what.heads.blocks),
                      static_cast<unsigned>(what.heads.parts));
    std::size_t const bytes = sizeof(float) * what.heads.dim * (kThreads / lanes);
    head_norm_backward<T><<<blocks, kThreads, bytes, stream>>>(what, lanes);
}

}  // namespace

void launch(HeadNorm const& what, Number number, cudaStream_t stream) {
    with_type(number, [&](auto type) { start<decltype(type)>(what, stream); });
}
void launch(HeadNormBackward const& what, Number number, cudaStream_t stream) {
    with_type(number, [&](auto type) { start<decltype(type)>(what, stream); });
}

}  // namespace osora::worker::kernels
