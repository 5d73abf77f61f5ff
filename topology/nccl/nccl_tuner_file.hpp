// The file for osora's NCCL tuner plug-in (docs/rfc/006): measured constants of NCCL's model, and
// the way for ranges of sizes. Pure. What the plug-in would refuse is an error here.
#pragma once

#include "base/result.hpp"
#include "topology/nccl/nccl_model.hpp"

#include <span>
#include <string>
#include <vector>

namespace osora::topology {

/// Sizes [start_bytes, stop_bytes) of a collective in groups of this shape.
struct TunerRegion {
    Collective collective = Collective::all_reduce;
    std::int64_t start_bytes = 0, stop_bytes = 0;
    GroupShape shape;  // 0: any
    NcclAlgo algo = NcclAlgo::ring;
    NcclProto proto = NcclProto::simple;
    int channels = 0;  // 0: NCCL's own number; NCCL uses at most as many as it has
    friend bool operator==(TunerRegion const&, TunerRegion const&) = default;
};

struct TunerFile {
    /// Writes the constants that differ between the two: the others stay NCCL's own.
    NcclConstants constants = nccl_constants(), base = nccl_constants();
    std::vector<TunerRegion> regions;  // the first that holds a size counts
    bool regions_always = false;       // also if constants are used: NCCL 2.28.3 and later
};

/// Write it with write_file_atomic and mode 0644 into a folder that only its owner writes to.
[[nodiscard]] Result<std::string> encode_tuner_file(TunerFile const& file);

/// The fastest way by NCCL's model with `constants` for every size; one region per run of powers of
/// two with the same way, from 0 to the end.
[[nodiscard]] std::vector<TunerRegion> tuner_regions(NcclGroup const& group,
                                                     NcclConstants const& constants);

}  // namespace osora::topology
