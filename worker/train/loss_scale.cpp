#include "worker/train/loss_scale.hpp"

#include <limits>

namespace osora::worker {
namespace {

constexpr double kGrowth = 2, kBackoff = 0.5;
constexpr int kGrowthInterval = 2000;  // steps

}  // namespace

LossScale with_step(LossScale const& before, bool finite) {
    if (!finite) return {before.scale * kBackoff, 0};
    if (before.good_steps + 1 < kGrowthInterval) return {before.scale, before.good_steps + 1};
    double const grown = before.scale * kGrowth;
    return {grown <= std::numeric_limits<float>::max() ? grown : before.scale, 0};
}

}  // namespace osora::worker
