// State that a forward pass depends on besides its tensors: autocast and random generators. Saved
// when a part runs, restored when it runs again. Private to worker/memory.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <vector>

namespace osora::worker {

/// Autocast of this thread on the CPU and on `device`'s kind.
class AutocastState {
public:
    [[nodiscard]] static AutocastState here(c10::Device device);

    /// Sets this state until destroyed, then restores the previous one. Disables the cache of
    /// weights: what a pass without a graph leaves in it would cut off their gradients in the next.
    class Scope {
    public:
        explicit Scope(AutocastState const& state);
        ~Scope();
        Scope(Scope const&) = delete;
        Scope& operator=(Scope const&) = delete;

    private:
        std::vector<AutocastState> before_;
        bool cache_before_;
    };

private:
    void set() const;
    struct OfDevice {
        c10::DeviceType type;
        bool enabled;
        c10::ScalarType dtype;
    };
    std::vector<OfDevice> devices_;
};

/// States of the default generators of the CPU and of `device`.
class RandomState {
public:
    [[nodiscard]] static RandomState here(c10::Device device);

    /// Sets the generators to this state until destroyed, then restores them.
    class Scope {
    public:
        explicit Scope(RandomState const& state);
        ~Scope();
        Scope(Scope const&) = delete;
        Scope& operator=(Scope const&) = delete;

    private:
        std::vector<RandomState> before_;
    };

private:
    void set() const;
    struct OfGenerator {
        at::Generator generator;
        at::Tensor state;
    };
    std::vector<OfGenerator> generators_;
};

}  // namespace osora::worker
