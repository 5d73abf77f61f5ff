// Units are the parts of a network that run one after the other: embedders, each block, the final
// layer. Who shares parameters between ranks is told when each unit needs its own, and when not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <initializer_list>

namespace osora::worker {

class UnitGate {
public:
    virtual ~UnitGate() = default;
    /// The parameters of the unit are about to be read. Throws c10::DistError when they cannot be
    /// had.
    virtual void open(std::size_t unit) = 0;
    /// They have been read, for these outputs.
    virtual void close(std::size_t unit, std::initializer_list<at::Tensor> outputs) = 0;
};

}  // namespace osora::worker
