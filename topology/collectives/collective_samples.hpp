// Measured times of collectives, from a CSV for `osora nccl fit` or from a probe, by collective and
// group shape. Pure.
#pragma once

#include "topology/collectives/collective_fit.hpp"
#include "topology/probe_result.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace osora::topology {

struct SampleGroup {
    Collective collective = Collective::all_reduce;
    GroupShape shape;
    std::vector<SizeTime> samples;  // in their original order
};

/// CSV with columns collective, ranks, nodes, size_bytes, time_us in any order; others are ignored.
/// Groups in the order of their first row. invalid_input names line and column.
[[nodiscard]] Result<std::vector<SampleGroup>> parse_samples(std::string_view csv);

/// From a probe; a sample of an unknown collective is an error.
[[nodiscard]] Result<std::vector<SampleGroup>> group_samples(
    std::span<CollectiveSample const> samples);

}  // namespace osora::topology
