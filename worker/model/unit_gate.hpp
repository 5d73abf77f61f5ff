// Units are the parts of a network that run in sequence: embedders, each block, the final layer.
// Notifies an implementation that keeps parameters elsewhere (on other ranks, in host memory) when
// each unit needs its parameters, and when it no longer does.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <initializer_list>

namespace osora::worker {

class UnitGate {
public:
    virtual ~UnitGate() = default;
    /// The parameters of the unit are about to be read. Throws c10::DistError if they cannot be
    /// obtained.
    virtual void open(std::size_t unit) = 0;
    /// They have been read, for these outputs.
    virtual void close(std::size_t unit, std::initializer_list<at::Tensor> outputs) = 0;
};

}  // namespace osora::worker
