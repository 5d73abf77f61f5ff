// Measured times of collectives over many sizes, with repeats: a sweep of nccl-tests, or several.
// Pure.
#pragma once

#include "base/result.hpp"
#include "topology/collectives/collective.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

/// What is measured; times are comparable only where all of it is equal.
struct SweepKey {
    std::string gpu = {};  // "h100_sxm"; empty: the file does not say
    Collective collective = Collective::all_reduce;
    std::string dtype = {};
    GroupShape shape = {};
    friend auto operator<=>(SweepKey const&, SweepKey const&) = default;
};

using Repeats = std::vector<double>;  // us

struct Sweep {
    std::map<SweepKey, std::map<std::int64_t, Repeats>> curves;  // by size in bytes
    std::set<std::string> versions;                              // of NCCL, as the rows name it
};

/// CSV with a header, columns in any order, others ignored: `collective` or `op`, `ranks` or
/// `gpus`, `size_bytes` or `bytes`, `time_us` or `latency_us`; optionally `nodes` (without it 1),
/// `dtype`, `gpu`, `nccl_version`. `version` not empty: only its rows. A row that is equal to an
/// earlier one in all columns is the same measurement and is left out. invalid_input names line and
/// column; not_found: no rows, or none of that version.
[[nodiscard]] Result<Sweep> parse_sweep(std::string_view csv, std::string_view version = {});

}  // namespace osora::topology
