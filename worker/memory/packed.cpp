#include "worker/memory/packed.hpp"

#include "worker/memory/value_rows.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::int64_t kChunk = 32 * kBlockValues;  // 16 KiB of fp32: stays in the first cache
constexpr std::int64_t kChunksPerTask = 8;

std::int64_t chunk_count(std::int64_t values) {
    return (values + kChunk - 1) / kChunk;
}

/// `tensor` without its gaps, in the order of memory, (numel).
at::Tensor flat_copy(at::Tensor const& tensor, at::TensorOptions const& options) {
    auto const rows = value_rows(tensor);
    at::Tensor flat = at::empty({tensor.numel()}, options);
    flat.as_strided(tensor.sizes(), rows.strides).copy_(tensor, /*non_blocking=*/true);
    return flat;
}

class InBf16 final : public Packed {
public:
    explicit InBf16(at::Tensor const& tensor)
        : Packed(tensor.options(), tensor.numel()),
          values_(flat_copy(tensor, tensor.options().dtype(at::kBFloat16))) {}
    [[nodiscard]] std::int64_t bytes() const override {
        return static_cast<std::int64_t>(values_.nbytes());
    }

private:
    at::Tensor unpack() override { return values_.to(options().dtype()); }
    at::Tensor values_;
};

/// Scales, then codes.
class InInt8 final : public Packed {
public:
    InInt8(at::TensorOptions options, std::int64_t count)
        : Packed(options, count),
          memory_(at::empty({block_count(count) * 4 + count}, options.dtype(at::kByte))) {}
    [[nodiscard]] std::int64_t bytes() const override {
        return static_cast<std::int64_t>(memory_.nbytes());
    }

    float* scales() { return static_cast<float*>(memory_.mutable_data_ptr()); }
    std::int8_t* codes() {
        return static_cast<std::int8_t*>(memory_.mutable_data_ptr()) + 4 * block_count(count());
    }

private:
    template <typename Value>
    void decode_into(void* to) {
        auto* const values = static_cast<Value*>(to);
        at::parallel_for(0, chunk_count(count()), kChunksPerTask,
                         [&](std::int64_t begin, std::int64_t end) {
                             std::int64_t const first = begin * kChunk;
                             std::int64_t const last = std::min(end * kChunk, count());
                             decode_int8(codes() + first, scales() + first / kBlockValues,
                                         last - first, values + first);
                         });
    }
    at::Tensor unpack() override {
        bool const as_bf16 = c10::typeMetaToScalarType(options().dtype()) == at::kBFloat16;
        at::Tensor values = at::empty({count()}, as_bf16 ? options() : options().dtype(at::kFloat));
        if (as_bf16) {
            decode_into<std::uint16_t>(values.mutable_data_ptr());
        } else {
            decode_into<float>(values.mutable_data_ptr());
        }
        return values.to(options().dtype());
    }
    at::Tensor memory_;
};

class InInt8ByOperators final : public Packed {
public:
    InInt8ByOperators(at::TensorOptions options, std::int64_t count, at::Tensor codes,
                      at::Tensor scales)
        : Packed(options, count), codes_(std::move(codes)), scales_(std::move(scales)) {}
    [[nodiscard]] std::int64_t bytes() const override {
        return static_cast<std::int64_t>(codes_.nbytes() + scales_.nbytes());
    }

private:
    at::Tensor unpack() override {
        return codes_.to(at::kFloat)
            .mul_(scales_)
            .view({-1})
            .narrow(0, 0, count())
            .to(options().dtype());
    }
    at::Tensor codes_, scales_;  // (blocks, kBlockValues), (blocks, 1)
};

/// Host memory that is not counted by LibTorch's allocator of the CPU device: here it represents
/// another device.
at::Tensor other_memory(std::int64_t count, at::TensorOptions const& options) {
    auto const bytes = static_cast<std::size_t>(count) * options.dtype().itemsize();
    void* const memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    return at::from_blob(
        memory, {count}, [](void* each) { std::free(each); }, options);
}

/// On the CPU.
class OffloadedBeside final : public OffloadedValues {
public:
    explicit OffloadedBeside(at::Tensor const& tensor)
        : OffloadedValues(tensor.options(), tensor.numel()),
          host_(other_memory(tensor.numel(), tensor.options())) {
        host_.as_strided(tensor.sizes(), value_rows(tensor).strides).copy_(tensor);
    }
    [[nodiscard]] std::int64_t bytes() const override { return 0; }
    [[nodiscard]] std::int64_t host_bytes() const override {
        return static_cast<std::int64_t>(host_.nbytes());
    }
    void prefetch() override {
        std::lock_guard const lock(ahead_mutex_);
        if (!ahead_.defined()) ahead_ = copied_back();
    }

private:
    // Not .to(): host memory itself must not be returned.
    at::Tensor copied_back() { return at::empty({count()}, options()).copy_(host_); }
    at::Tensor unpack() override {
        std::lock_guard const lock(ahead_mutex_);
        if (ahead_.defined()) return std::exchange(ahead_, at::Tensor());
        return copied_back();
    }
    at::Tensor host_, ahead_;
    std::mutex ahead_mutex_;
};

/// In page-locked memory, which LibTorch's allocator keeps for the next step.
class OffloadedFromDevice final : public OffloadedValues {
public:
    OffloadedFromDevice(at::Tensor const& tensor, std::shared_ptr<SideCopies> copies)
        : OffloadedValues(tensor.options(), tensor.numel()),
          copies_(std::move(copies)),
          host_(
              at::empty({tensor.numel()}, tensor.options().device(at::kCPU).pinned_memory(true))) {
        copies_->to_host(host_.as_strided(tensor.sizes(), value_rows(tensor).strides), tensor);
    }
    /// The memory of values that nobody asked for is used again only after the copy to it.
    ~OffloadedFromDevice() override {
        try {
            if (ahead_) ahead_->wait();
        } catch (std::exception const&) {}  // the device has failed, as the next operator says
    }
    [[nodiscard]] std::int64_t bytes() const override { return 0; }
    [[nodiscard]] std::int64_t host_bytes() const override {
        return static_cast<std::int64_t>(host_.nbytes());
    }
    void prefetch() override {
        std::lock_guard const lock(ahead_mutex_);
        if (!ahead_) ahead_ = copies_->to_device(host_, options());
    }

private:
    at::Tensor unpack() override {
        std::lock_guard const lock(ahead_mutex_);
        if (!ahead_) ahead_ = copies_->to_device(host_, options());
        ahead_->wait();
        at::Tensor values = std::move(ahead_->values);
        ahead_.reset();
        return values;
    }
    std::shared_ptr<SideCopies> copies_;
    at::Tensor host_;
    std::optional<ArrivingValues> ahead_;
    std::mutex ahead_mutex_;
};

class Made final : public Packed {
public:
    Made(at::Tensor const& made, std::function<at::Tensor()> make)
        : Packed(made.options(), made.numel()), make_(std::move(make)) {}
    [[nodiscard]] std::int64_t bytes() const override { return 0; }

private:
    at::Tensor unpack() override { return make_().contiguous().view({-1}); }
    std::function<at::Tensor()> make_;
};

double ratio(double error_square, double value_square) {
    return error_square == 0 ? 0 : std::sqrt(error_square / value_square);
}

}  // namespace

at::Tensor Packed::values() {
    std::lock_guard const lock(mutex_);
    at::NoGradGuard const no_graph;
    if (given_out_) {
        if (auto held = given_out_->lock()) {
            return at::empty({0}, options_).set_(c10::Storage(std::move(held)), 0, {count_}, {1});
        }
    }
    at::Tensor values = unpack();
    given_out_.emplace(values.storage().getWeakStorageImpl());
    return values;
}

std::shared_ptr<Packed> pack_bf16(at::Tensor const& tensor) {
    return std::make_shared<InBf16>(tensor);
}

Int8Packed pack_int8(at::Tensor const& tensor, std::optional<std::uint64_t> key) {
    if (!tensor.is_cpu()) return pack_int8_by_operators(tensor);
    at::Tensor const source = tensor.scalar_type() == at::kHalf ? tensor.to(at::kFloat) : tensor;
    auto const rows = value_rows(source);
    auto packed = std::make_shared<InInt8>(tensor.options(), tensor.numel());
    std::vector<RoundingSums> sums(static_cast<std::size_t>(chunk_count(tensor.numel())));
    float* const scales = packed->scales();
    std::int8_t* const codes = packed->codes();
    auto const run = [&](std::int64_t begin, std::int64_t end) {
        alignas(64) float buffer[kChunk];
        for (std::int64_t chunk = begin; chunk < end; ++chunk) {
            std::int64_t const first = chunk * kChunk;
            std::int64_t const count = std::min(kChunk, tensor.numel() - first);
            sums[static_cast<std::size_t>(chunk)] =
                encode_int8(read_values(source, rows, first, count, buffer), count,
                            {key, static_cast<std::uint64_t>(first)}, codes + first,
                            scales + first / kBlockValues);
        }
    };
    at::parallel_for(0, chunk_count(tensor.numel()), kChunksPerTask, run);
    RoundingSums all;
    for (RoundingSums const& each : sums) all = all + each;
    if (!all.finite) return {};
    return {std::move(packed), ratio(all.expected_square, all.value_square),
            ratio(all.sampled_error_square, all.sampled_value_square)};
}

Int8Packed pack_int8_by_operators(at::Tensor const& tensor) {
    std::int64_t const count = tensor.numel(), blocks = block_count(count);
    at::Tensor const flat = flat_copy(tensor, tensor.options().dtype(at::kFloat));
    at::Tensor const values =
        at::constant_pad_nd(flat, {0, blocks * kBlockValues - count}).view({blocks, kBlockValues});
    at::Tensor const scales =
        std::get<0>(values.abs().max(1, /*keepdim=*/true)).div_(127).clamp_max_(FLT_MAX / 128);
    at::Tensor const codes = values.div(scales.clamp_min(FLT_MIN)).round_();
    // One wait for the device: the values, the errors, and with NaN or infinity neither.
    at::Tensor const error = codes.mul(scales).sub_(values).square_().sum();
    at::Tensor const sums = at::stack({error, values.square().sum()}).to(at::kDouble).cpu();
    double const error_square = sums[0].item<double>(), value_square = sums[1].item<double>();
    if (!std::isfinite(error_square) || !std::isfinite(value_square)) return {};
    double const measured = ratio(error_square, value_square);
    return {
        std::make_shared<InInt8ByOperators>(tensor.options(), count, codes.to(at::kChar), scales),
        measured, measured};
}

std::shared_ptr<OffloadedValues> pack_offload(at::Tensor const& tensor,
                                              std::shared_ptr<SideCopies> copies) {
    if (copies == nullptr) return std::make_shared<OffloadedBeside>(tensor);
    return std::make_shared<OffloadedFromDevice>(tensor, std::move(copies));
}

std::shared_ptr<Packed> pack_function(at::Tensor const& made, std::function<at::Tensor()> make) {
    return std::make_shared<Made>(made, std::move(make));
}

}  // namespace osora::worker
