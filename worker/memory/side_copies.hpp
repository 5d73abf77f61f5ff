// Copies between a device and page-locked host memory, on a stream beside that of the passes, so
// that both work at once. Through c10's interface: the worker does not link CUDA.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstddef>
#include <deque>
#include <mutex>

namespace osora::worker {

/// A copy to the device that was started; wait() before the values are used or dropped.
struct ArrivingValues {
    at::Tensor values;  // on the device
    c10::Event done;
    /// The stream of this thread continues after the copy; the host does not wait.
    void wait() const;
};

/// For one device. Any thread. Copies happen in the order of the calls. All throw c10::Error.
class SideCopies {
public:
    /// Sources that wait for their copies to the host, at most: memory that a pass needs more.
    static constexpr std::size_t kHeldMax = 2;

    explicit SideCopies(c10::Device device);

    /// Starts a copy of what this thread's stream has computed. Keeps the memory of `from` until
    /// kHeldMax later copies were started, or until release(); that stream waits for the copy
    /// first.
    void to_host(at::Tensor const& to, at::Tensor const& from);
    void release();

    /// Starts a copy of `from`, in host memory, to a new tensor with `options`.
    [[nodiscard]] ArrivingValues to_device(at::Tensor const& from, at::TensorOptions options);

private:
    struct Held {
        c10::Storage from;  // without the graph of a tensor
        c10::Event done;
    };
    void release_all_but(std::size_t count);
    [[nodiscard]] c10::Event copy(at::Tensor const& to, at::Tensor const& from);

    std::mutex mutex_;
    c10::Device device_;
    c10::impl::VirtualGuardImpl guard_;
    c10::Stream stream_;
    std::deque<Held> held_;
};

}  // namespace osora::worker
