// A network without computing: parameters of the run's sizes, and a graph over them in which
// forward and backward passes take the time that they are given. What drives a training's
// collectives (gates of units, hooks of gradients) sees what it sees in training.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/parallel/device.hpp"

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace osora::worker {

/// Own work of a rank takes wall time, not CPU time: a measured length already holds what the rank
/// lost to Gloo's threads and to its neighbours, and would lose it a second time. It still spins,
/// so that collectives must share the cores with it as they do with a model.
struct OwnWork {
    /// That it keeps busy; 0: it sleeps, as a GPU's leaves the CPU idle.
    int threads = 1;
    void until(std::chrono::steady_clock::time_point deadline) const;
};

class RehearsedNetwork {
public:
    struct Options {
        at::ScalarType type = at::kFloat;  // of weights and gradients
        bool divides = false;              // parameters get memory as ranks divide them
        OwnWork work = {};
        Device device = {};
    };
    /// `trained`: what the run trains; only names, shapes and units are used (the meta device will
    /// do). Each block ("spatial_blocks.3.") takes the same share of a pass, and its gradients
    /// appear in proportion to their sizes; parameters outside the blocks cost nothing. Without
    /// blocks all go by size.
    RehearsedNetwork(Parameters const& trained, Options const& options);
    RehearsedNetwork(RehearsedNetwork const&) = delete;
    RehearsedNetwork& operator=(RehearsedNetwork const&) = delete;

    [[nodiscard]] Parameters& parameters() { return parameters_; }

    /// Starts a step; `waited_s`: for others so far, which is added to all that is planned.
    void begin_step(std::function<double()> waited_s);
    /// A pass whose work comes after `begin_s` of this step's: its result, for backward().
    [[nodiscard]] at::Tensor forward(double begin_s, double forward_s, double backward_s);
    /// Seconds that the host waited for what it had queued on a GPU, in this step.
    [[nodiscard]] double synchronised_s() const { return synchronised_s_; }

private:
    struct Touch;
    void work(double planned_s);
    void backward(std::size_t index);

    Options options_;
    Parameters parameters_;
    std::vector<at::Tensor> tensors_;
    std::vector<std::size_t> units_;  // of these
    std::vector<double> before_;      // share of a pass before each of these; ends with 1
    std::chrono::steady_clock::time_point start_;
    std::function<double()> waited_s_;
    double synchronised_s_ = 0;
    double backward_begin_s_ = 0, backward_s_ = 0;  // of the pass
};

}  // namespace osora::worker
