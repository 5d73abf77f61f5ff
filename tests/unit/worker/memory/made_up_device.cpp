#include "tests/unit/worker/memory/made_up_device.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/max.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

/// Of all streams but the first.
struct SideQueue {
    std::mutex mutex;
    std::deque<std::function<void()>> queued;
    std::int64_t queued_ever = 0, done_ever = 0;
    SideCopyCounts counts;

    void run_until(std::int64_t position) {
        for (; done_ever < position; ++done_ever) {
            queued.front()();
            queued.pop_front();
        }
    }
};
SideQueue side;
thread_local c10::StreamId current_stream = 0;

/// How much the side stream had to do; 0 on the first stream, whose operators are never queued.
struct MadeUpEvent {
    std::int64_t position = 0;
};

class MadeUpGuard final : public c10::impl::DeviceGuardImplInterface {
public:
    static constexpr c10::DeviceType static_type = kMadeUp;
    [[nodiscard]] c10::DeviceType type() const override { return kMadeUp; }
    [[nodiscard]] c10::Device exchangeDevice(c10::Device device) const override { return device; }
    [[nodiscard]] c10::Device getDevice() const override { return made_up_device(); }
    void setDevice(c10::Device /*device*/) const override {}
    void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
    [[nodiscard]] c10::Stream getStream(c10::Device /*device*/) const override {
        return stream_of(current_stream);
    }
    [[nodiscard]] c10::Stream getStreamFromGlobalPool(c10::Device /*device*/,
                                                      bool /*urgent*/) const override {
        return stream_of(1);
    }
    [[nodiscard]] c10::Stream exchangeStream(c10::Stream stream) const override {
        return stream_of(std::exchange(current_stream, stream.id()));
    }
    void record(void** event, c10::Stream const& stream, c10::DeviceIndex /*device*/,
                c10::EventFlag /*flag*/) const override {
        std::lock_guard const lock(side.mutex);
        if (*event == nullptr) *event = std::make_unique<MadeUpEvent>().release();
        static_cast<MadeUpEvent*>(*event)->position = stream.id() == 0 ? 0 : side.queued_ever;
    }
    void block(void* event, c10::Stream const& stream) const override {
        std::lock_guard const lock(side.mutex);
        if (stream.id() == 0) side.run_until(static_cast<MadeUpEvent*>(event)->position);
    }
    void destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept override {
        std::unique_ptr<MadeUpEvent>(static_cast<MadeUpEvent*>(event)).reset();
    }
    [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return 1; }

private:
    static c10::Stream stream_of(c10::StreamId id) {
        return c10::Stream(c10::Stream::UNSAFE, made_up_device(), id);
    }
};

/// Draws no numbers, has no context; page-locked memory is the CPU's.
class MadeUpHooks final : public at::PrivateUse1HooksInterface {
public:
    [[nodiscard]] bool isBuilt() const override { return true; }
    [[nodiscard]] bool isAvailable() const override { return true; }
    [[nodiscard]] bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override {
        return true;
    }
    [[nodiscard]] at::Generator const& getDefaultGenerator(
        c10::DeviceIndex /*device*/) const override {
        static at::Generator const generator = at::make_generator<at::CPUGeneratorImpl>(0);
        return generator;
    }
    [[nodiscard]] at::Device getDeviceFromPtr(void* /*data*/) const override {
        return made_up_device();
    }
    [[nodiscard]] c10::Allocator* getPinnedMemoryAllocator() const override {
        return c10::GetCPUAllocator();
    }
};

/// The same memory, to the CPU; a tensor of another device as it is.
at::Tensor on_cpu(at::Tensor const& tensor) {
    if (!tensor.defined() || tensor.device().type() != kMadeUp) return tensor;
    auto const options = at::TensorOptions(at::kCPU).dtype(tensor.dtype());
    return at::for_blob(tensor.unsafeGetTensorImpl()->mutable_data(), tensor.sizes())
        .strides(tensor.strides())
        .deleter([tensor](void*) {})
        .options(options)
        .make_tensor();
}

/// The same memory, to the made-up device: as a view of that of `arguments` whose it is.
at::Tensor on_made_up(at::Tensor const& result, std::vector<at::Tensor> const& arguments) {
    if (!result.defined() || !result.is_cpu()) return result;
    auto* const data = static_cast<std::byte*>(result.unsafeGetTensorImpl()->mutable_data());
    for (at::Tensor const& each : arguments) {
        c10::Storage const& storage = each.storage();
        auto* const begin = static_cast<std::byte*>(storage.mutable_data());
        if (data < begin || data >= begin + storage.nbytes()) continue;
        auto view = at::detail::make_tensor<c10::TensorImpl>(
            c10::TensorImpl::VIEW, c10::Storage(storage), each.key_set(), result.dtype());
        view.unsafeGetTensorImpl()->set_sizes_and_strides(
            result.sizes(), result.strides(),
            (data - begin) / static_cast<std::int64_t>(result.itemsize()));
        return view;
    }
    auto const options = at::TensorOptions(made_up_device()).dtype(result.dtype());
    return at::for_blob(data, result.sizes())
        .strides(result.strides())
        .deleter([result](void*) {})
        .target_device(made_up_device())
        .options(options)
        .make_tensor();
}

/// Tensors and devices in one argument of an operator, to those of the CPU.
c10::IValue argument_on_cpu(c10::IValue const& value, std::vector<at::Tensor>& arguments) {
    auto const converted = [&](at::Tensor const& tensor) {
        if (tensor.defined() && tensor.device().type() == kMadeUp) arguments.push_back(tensor);
        return on_cpu(tensor);
    };
    if (value.isTensor()) return converted(value.toTensor());
    if (value.isDevice()) return c10::Device(at::kCPU);
    if (value.isTensorList()) {
        std::vector<at::Tensor> list;
        for (at::Tensor const& each : value.toTensorVector()) list.push_back(converted(each));
        return c10::IValue(list);
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (std::optional<at::Tensor> const& each : value.toOptionalTensorVector())
            list.push_back(each ? std::optional(converted(*each)) : std::nullopt);
        return c10::IValue(list);
    }
    return value;
}

/// An output without values, which operators resize, and what the CPU's operator got instead.
struct MadeUpOutput {
    at::Tensor output, on_cpu;
    void set() const {
        if (on_cpu.numel() == 0) return;
        at::Tensor const made = on_made_up(on_cpu, {});
        output.unsafeGetTensorImpl()->set_storage_keep_dtype(made.storage());
        output.unsafeGetTensorImpl()->set_sizes_and_strides(made.sizes(), made.strides());
    }
};

void run_on_cpu(c10::OperatorHandle const& op, torch::jit::Stack* stack) {
    c10::impl::ExcludeDispatchKeyGuard const no_graph(
        c10::autograd_dispatch_keyset | c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView));
    std::vector<at::Tensor> arguments;
    std::vector<MadeUpOutput> outputs;
    auto const& declared = op.schema().arguments();
    for (std::size_t i = 0; i < declared.size(); ++i) {
        c10::IValue& value = *(stack->end() - static_cast<std::ptrdiff_t>(declared.size() - i));
        bool const written = declared[i].alias_info() && declared[i].alias_info()->isWrite();
        if (written && value.isTensor() && value.toTensor().numel() == 0) {
            at::Tensor const& output = value.toTensor();
            outputs.push_back({output, at::empty({0}, output.options().device(at::kCPU))});
            value = outputs.back().on_cpu;
        } else {
            value = argument_on_cpu(value, arguments);
        }
    }
    op.callBoxed(stack);
    for (MadeUpOutput const& each : outputs) each.set();
    auto const results = static_cast<std::ptrdiff_t>(op.schema().returns().size());
    for (c10::IValue& each : std::span(stack->end() - results, stack->end())) {
        if (each.isTensor()) {
            each = on_made_up(each.toTensor(), arguments);
        } else if (each.isTensorList()) {
            std::vector<at::Tensor> list;
            for (at::Tensor const& one : each.toTensorVector())
                list.push_back(on_made_up(one, arguments));
            each = c10::IValue(list);
        }
    }
}

/// Does not keep memory of the device alive, as a stream does not.
at::Tensor copy_between(at::Tensor const& from, at::Tensor const& to, bool /*non_blocking*/) {
    if (current_stream == 0) {
        on_cpu(to).copy_(on_cpu(from));
        return to;
    }
    using Weak = c10::weak_intrusive_ptr<c10::StorageImpl>;
    auto const& there = from.is_cpu() ? to : from;
    auto const host = from.is_cpu() ? from : to;
    auto copy = [weak = std::make_shared<Weak>(there.storage().getWeakStorageImpl()), host,
                 sizes = there.sizes().vec(), strides = there.strides().vec(),
                 offset = there.storage_offset(), type = there.scalar_type(),
                 to_there = from.is_cpu()] {
        auto storage = weak->lock();
        ++(storage ? side.counts.done : side.counts.lost);
        if (!storage) return;
        auto* const data = static_cast<std::byte*>(storage->mutable_data()) +
                           offset * static_cast<std::int64_t>(c10::elementSize(type));
        at::Tensor const values = at::for_blob(data, sizes)
                                      .strides(strides)
                                      .options(at::TensorOptions(type))
                                      .make_tensor();
        at::NoGradGuard const no_graph;
        to_there ? values.copy_(host) : host.copy_(values);
    };
    std::lock_guard const lock(side.mutex);
    side.queued.emplace_back(std::move(copy));
    ++side.queued_ever;
    return to;
}

/// The fallback cannot: results of a boxed operator with two outputs refer to its arguments.
std::tuple<at::Tensor, at::Tensor> greatest(at::Tensor const& of, std::int64_t dim,
                                            bool keeps_dim) {
    auto const [values, places] = at::max(on_cpu(of), dim, keeps_dim);
    return {on_made_up(values, {}), on_made_up(places, {})};
}

[[maybe_unused]] bool const kRegistered = [] {
    static MadeUpHooks hooks;
    c10::register_privateuse1_backend("made_up");
    at::RegisterPrivateUse1HooksInterface(&hooks);
    return true;
}();
C10_REGISTER_GUARD_IMPL(PrivateUse1, MadeUpGuard)
TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("_copy_from", &copy_between);
    library.impl("max.dim", &greatest);
}

}  // namespace

SideCopyCounts side_copy_counts() {
    std::lock_guard const lock(side.mutex);
    side.run_until(side.queued_ever);
    return side.counts;
}

}  // namespace osora::worker
