#include "worker/model/offload/block_copier.hpp"

#include "base/check.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace osora::worker {
namespace {

class ThreadCopier final : public BlockCopier {
public:
    ThreadCopier() : thread_([this](std::stop_token const& stop) { run(stop); }) {}

    void start(at::Tensor const& to, at::Tensor const& from) override {
        OSORA_CHECK_LE(from.nbytes(), to.nbytes());
        {
            std::lock_guard const lock(mutex_);
            OSORA_CHECK(!copy_);
            copy_ = {to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes()};
        }
        changed_.notify_all();
    }

    void finish() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !copy_; });
    }

private:
    struct Copy {
        void* to = nullptr;
        void const* from = nullptr;
        std::size_t bytes = 0;
    };

    void run(std::stop_token const& stop) {
        std::unique_lock lock(mutex_);
        while (changed_.wait(lock, stop, [this] { return copy_.has_value(); })) {
            Copy const copy = *copy_;
            lock.unlock();
            std::memcpy(copy.to, copy.from, copy.bytes);
            lock.lock();
            copy_.reset();
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Copy> copy_;  // on the way
    std::jthread thread_;       // last: it uses the others
};

/// Of any device with streams, through c10's interface: the worker does not link CUDA.
class StreamCopier final : public BlockCopier {
public:
    explicit StreamCopier(c10::Device device)
        : device_(device),
          guard_(device.type()),
          stream_(guard_.getStreamFromGlobalPool(device)),
          used_(device.type()),
          copied_(device.type()) {}

    void start(at::Tensor const& to, at::Tensor const& from) override {
        used_.record(guard_.getStream(device_));
        used_.block(stream_);
        {
            c10::StreamGuard const on_stream(stream_);
            to.narrow(0, 0, from.numel()).copy_(from, /*non_blocking=*/true);
        }
        copied_.record(stream_);
        on_the_way_ = true;
    }

    void finish() override {
        if (std::exchange(on_the_way_, false)) copied_.block(guard_.getStream(device_));
    }

private:
    c10::Device device_;
    c10::impl::VirtualGuardImpl guard_;
    c10::Stream stream_;
    c10::Event used_, copied_;
    bool on_the_way_ = false;
};

}  // namespace

std::unique_ptr<BlockCopier> make_block_copier(c10::Device to) {
    if (to.is_cpu()) return std::make_unique<ThreadCopier>();
    return std::make_unique<StreamCopier>(to);
}

at::Tensor host_bytes(std::int64_t bytes, c10::Device to) {
    if (!to.is_cpu()) return at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(true));
    std::shared_ptr<std::byte[]> memory;
    try {
        memory = std::make_shared_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    } catch (std::bad_alloc const&) {
        C10_THROW_ERROR(OutOfMemoryError,
                        "host memory for frozen blocks: " + std::to_string(bytes) + " bytes");
    }
    return at::from_blob(
        memory.get(), {bytes}, [memory](void*) {}, at::kByte);
}

}  // namespace osora::worker
