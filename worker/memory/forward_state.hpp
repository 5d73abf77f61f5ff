// What the numbers of a forward pass depend on beside its tensors: autocast and the generators of
// random numbers. Kept when a part runs, put back when it runs again. Private to worker/memory.
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

    /// This state until the object goes, then what was there before. Without the cache of weights:
    /// what a pass without a graph leaves in it would cut off their gradients in the next.
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

    /// The generators in this state until the object goes, then as they were.
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
