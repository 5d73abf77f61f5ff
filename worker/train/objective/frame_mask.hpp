// Which latent frames of a sample are noised and which are given as a condition: the strategies of
// github.com/hpcaitech/Open-Sora v1.2 (opensora/utils/train_utils.py, MaskGenerator), under its
// names. Pure; no LibTorch.
#pragma once

#include "base/result.hpp"
#include "worker/train/sample_rng.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace osora::worker {

/// head: the first frames are given; tail: the last; quarter: 1 to a quarter of the frames, image:
/// one. random: each frame with a probability of 0.1 to 0.9. intepolate (so spelled there): every
/// second frame.
enum class MaskStrategy {
    identity,
    quarter_random,
    quarter_head,
    quarter_tail,
    quarter_head_tail,
    image_random,
    image_head,
    image_tail,
    image_head_tail,
    random,
    intepolate
};

[[nodiscard]] Result<MaskStrategy> mask_strategy(std::string_view name);
[[nodiscard]] std::string_view mask_strategy_name(MaskStrategy strategy);

/// `osora`: a quarter of 2 or 3 frames is one frame, and a mask that leaves nothing to train on
/// gets its last frame noised (Open-Sora's own fix after v1.2, 8af7f69). `original`: as v1.2, where
/// image_head_tail gives both of 2 frames (a loss over no frame: NaN) and quarter_* of 2 or 3
/// frames is an error (Python's ValueError: randint(1, 0)).
enum class MaskRule { osora, original };

/// Where the numbers of a mask come from, in the order in which Open-Sora draws them.
struct MaskDraws {
    std::function<double()> pick;                         // [0, 1): the strategy
    std::function<int(int first, int last)> integer;      // [first, last]
    std::function<double(double low, double high)> real;  // [low, high): of `random`
    std::function<float()> frame;                         // [0, 1): one a frame, of `random`
};
/// Draws from `rng`, which must outlive them. A key of sample_key(seed, epoch, sample,
/// RngPurpose::frame_mask) makes masks the same on any number of ranks and after a resume, and
/// different on each rank.
[[nodiscard]] MaskDraws draws_from(SampleRng& rng);

/// true: noised; false: given. Draws exactly what Open-Sora draws for the strategy.
[[nodiscard]] Result<std::vector<bool>> frame_mask(MaskStrategy strategy, int num_frames,
                                                   MaskRule rule, MaskDraws const& draws);

/// Strategies with their probabilities.
class MaskMixture {
public:
    struct Part {
        MaskStrategy strategy = MaskStrategy::identity;
        double weight = 0.0;
    };
    /// The order decides which strategy a number selects. identity gets the remainder if it is not
    /// named. Rejects weights outside [0, 1], a strategy named twice, a sum that is not 1 within
    /// 1e-6; the message has all errors.
    [[nodiscard]] static Result<MaskMixture> make(std::vector<Part> parts,
                                                  MaskRule rule = MaskRule::osora);

    [[nodiscard]] MaskStrategy strategy_at(double pick) const;
    /// Only the original rule has errors.
    [[nodiscard]] Result<std::vector<bool>> draw(int num_frames, MaskDraws const& draws) const;
    [[nodiscard]] std::vector<Part> const& parts() const { return parts_; }

private:
    std::vector<Part> parts_;
    MaskRule rule_ = MaskRule::osora;
};

}  // namespace osora::worker
