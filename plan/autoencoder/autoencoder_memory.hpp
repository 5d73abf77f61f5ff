// Memory of a rank that trains an autoencoder, by bucket and piece; and the choice of pieces. Pure;
// private to autoencoder_plan.
#pragma once

#include "base/result.hpp"
#include "plan/memory.hpp"
#include "plan/plan_context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// Frames processed at a time; 0: all.
struct Pieces {
    int micro_batch_size = 0;  // by the 2-D part; a VQ-VAE has none
    int micro_frame_size = 0;  // by the temporal part, or the whole VQ-VAE
    friend bool operator==(Pieces const&, Pieces const&) = default;
};

[[nodiscard]] RankMemory autoencoder_memory(PlanContext const& context, std::size_t bucket,
                                            std::int64_t samples, Pieces const& pieces);

struct PieceChoice {
    Pieces pieces;
    std::vector<std::int64_t> samples;  // per bucket, in one forward
    RankMemory peak;
    std::size_t peak_bucket = 0;
    std::string reason;
};

/// Everything at once if that fits, with as many samples as fit; else the largest pieces that fit
/// with one sample. Values set by the user are kept. `local`: samples of a rank in a step, per
/// bucket.
[[nodiscard]] Result<PieceChoice> choose_pieces(PlanContext const& context,
                                                std::vector<std::int64_t> const& local,
                                                std::optional<std::int64_t> limit_bytes);

}  // namespace osora::plan
