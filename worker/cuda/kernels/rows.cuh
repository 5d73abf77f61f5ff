// Rows of numbers in 16-byte vectors, and sums over a block. Private to worker/cuda.
#pragma once

#include "worker/cuda/kernels/launch.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace osora::worker::kernels {

__device__ inline float to_float(float x) {
    return x;
}
__device__ inline float to_float(__half x) {
    return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
template <typename T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
    return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
    return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}

/// Calls `start` with a value of the type of the numbers.
template <typename F>
void with_type(Number number, F const& start) {
    switch (number) {
        case Number::bf16: return start(__nv_bfloat16{});
        case Number::fp16: return start(__half{});
        case Number::fp32: return start(float{});
    }
}

template <typename T>
struct alignas(16) Packed {
    static constexpr int kCount = 16 / sizeof(T);
    T values[kCount];
};

template <typename T>
__device__ Packed<T> packed_at(T const* from) {
    return *reinterpret_cast<Packed<T> const*>(from);
}
template <typename T>
__device__ void unpack(Packed<T> const& packed, float (&into)[Packed<T>::kCount]) {
#pragma unroll
    for (int i = 0; i < Packed<T>::kCount; ++i) into[i] = to_float(packed.values[i]);
}
template <typename T>
__device__ void read(T const* from, float (&into)[Packed<T>::kCount]) {
    unpack(packed_at(from), into);
}
template <typename T>
__device__ void write(T* into, float const (&from)[Packed<T>::kCount]) {
    Packed<T> packed;
#pragma unroll
    for (int i = 0; i < Packed<T>::kCount; ++i) packed.values[i] = from_float<T>(from[i]);
    *reinterpret_cast<Packed<T>*>(into) = packed;
}
template <int kCount>
__device__ void write_floats(float* into, float const (&from)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4)
        *reinterpret_cast<float4*>(into + i) =
            make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
}

/// Sums of both numbers over the block, in every thread. `place`: 2 x 32 pairs; calls take turns
/// between its halves, so one barrier a call is enough.
__device__ inline float2 block_sum(float2 mine, float2 (*place)[32], int turn) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
        mine.x += __shfl_xor_sync(0xffffffffu, mine.x, lane);
        mine.y += __shfl_xor_sync(0xffffffffu, mine.y, lane);
    }
    float2* const sums = place[turn & 1];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = mine;
    __syncthreads();
    float2 all = make_float2(0, 0);
    int const warps = blockDim.x / 32;
    for (int warp = 0; warp < warps; ++warp) {
        all.x += sums[warp].x;
        all.y += sums[warp].y;
    }
    return all;
}

/// Elements before a row of a tensor whose three leading dimensions have any strides.
__device__ inline std::int64_t place_of(RowStrides const& at, std::int64_t row) {
    std::int64_t const inner = row % at.inner, rest = row / at.inner;
    return rest / at.middle * at.outer_stride + rest % at.middle * at.middle_stride +
           inner * at.inner_stride;
}

}  // namespace osora::worker::kernels
