// Communication of ranks inside the passes of a step, in the trainer's view.
#pragma once

#include "protocol/steps/collectives.hpp"

#include <vector>

namespace osora::worker {

class StepExchange {
public:
    virtual ~StepExchange() = default;
    /// A step begins.
    virtual void begin_step() = 0;
    /// What this rank has waited for in this step so far, s; 0 on a GPU, which waits itself.
    [[nodiscard]] virtual double waited_s() const = 0;
    /// Of this step by class, when they are done.
    [[nodiscard]] virtual std::vector<protocol::CollectiveCost> costs() const = 0;
};

}  // namespace osora::worker
