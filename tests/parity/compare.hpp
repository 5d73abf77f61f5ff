// Relative difference of tensors, and how large it may be. fp64 shows that a formula is right; fp32
// shows that nothing is lost, and there another CPU, or another number of threads, sums in another
// order: its tolerances are four times the error that PyTorch's own fp32 has against fp64.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>

namespace osora::worker {

/// fp64 here against fp64 that was rounded to fp32 once (by up to 2^-24 = 6e-8 of each number).
constexpr double kExact = 2e-7;
/// fp64 here against what PyTorch computed in fp32: its error (up to 1.8e-6, autoencoders), which
/// is the same on every machine that runs the test.
constexpr double kRecordedFp32 = 2e-6;

/// Transformers in fp32. PyTorch 2.11 (bench/trainer_vs_pytorch/stdit3_torch.py on the case A1,
/// with ATen's kernels of default, avx2 and avx512) and the recording are from fp64: outputs up to
/// 1.1e-6, a gradient up to 2.5e-6 and 3.2e-6 from each other, the loss (a sum of numbers of both
/// signs) 8e-7. On A4, with masks, osora is up to 1.8e-6 from the recording in its outputs and
/// 6.4e-6 in a gradient, on AVX-512 and without. A LayerNorm with another eps, the smallest
/// mistake, costs 6e-6 of the outputs.
constexpr double kFp32Output = 4.5e-6;
constexpr double kFp32Gradient = 2.5e-5;
constexpr double kFp32Loss = 1e-5;
/// Networks of convolutions in fp32. Open-Sora's autoencoder on E1 and E3: 1.8e-6 (README);
/// VideoGPT's VQ-VAE: 9.3e-6 in a gradient (PyTorch 2.11 with AVX2; 5.4e-6 with AVX-512).
constexpr double kFp32ConvOutput = 7.5e-6;
constexpr double kFp32ConvGradient = 4e-5;
/// The same sums in fp32 in two orders (chunks, micro-batches, ranks), neither of which is exact: a
/// walk of n roundings is sqrt(n) 6e-8 long, 6e-6 for 10,000. A wrong weight of a part is > 1e-3.
constexpr double kFp32Order = 2e-5;
/// A few steps of AdamW in fp32: some 10 roundings of 6e-8 each to a step, six steps.
constexpr double kFp32Steps = 5e-6;

/// Norm of the difference over the norm of `expected`, in double; infinite for another shape.
inline double relative_error(at::Tensor const& actual, at::Tensor const& expected) {
    if (!actual.defined() || actual.sizes() != expected.sizes()) return INFINITY;
    at::Tensor const a = actual.detach().to(at::kDouble);
    at::Tensor const b = expected.to(at::kDouble);
    double const norm = b.norm().item<double>();
    double const difference = a.sub(b).norm().item<double>();
    return norm > 0 ? difference / norm : difference;
}

}  // namespace osora::worker
