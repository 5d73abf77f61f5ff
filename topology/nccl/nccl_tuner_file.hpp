// The file that osora's tuner plug-in for NCCL reads (docs/rfc/006): constants of NCCL's model
// that were measured, and regions of sizes with the way to take. Pure. What the plug-in would
// refuse is an error here.
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
    int channels = 0;  // 0: NCCL's own number; NCCL takes at most those that it has
    friend bool operator==(TunerRegion const&, TunerRegion const&) = default;
};

struct TunerFile {
    /// Those that differ between the two are written: the others stay NCCL's own.
    NcclConstants constants = nccl_constants(), base = nccl_constants();
    std::vector<TunerRegion> regions;  // the first that holds a size counts
    bool regions_always = false;       // also where constants are taken: NCCL 2.28.3 and later
};

/// Write it with write_file_atomic and mode 0644 into a folder that only its owner writes to.
[[nodiscard]] Result<std::string> encode_tuner_file(TunerFile const& file);

/// The fastest way by NCCL's model with `constants` for every size, as one region for each run of
/// powers of two with the same way, from 0 to the end.
[[nodiscard]] std::vector<TunerRegion> tuner_regions(NcclGroup const& group,
                                                     NcclConstants const& constants);

}  // namespace osora::topology
