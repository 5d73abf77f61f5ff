#include "worker/train/sample_rng.hpp"

#include "base/check.hpp"

#include <cmath>
#include <numbers>

namespace osora::worker {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;

std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

}  // namespace

std::uint64_t sample_key(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample_id,
                         RngPurpose purpose) {
    std::uint64_t key = mix(seed + kGolden);
    for (std::uint64_t const word : {epoch, sample_id, static_cast<std::uint64_t>(purpose)})
        key = mix((key ^ word) + kGolden);
    return key;
}

std::uint64_t SampleRng::next() {
    state_ += kGolden;
    return mix(state_);
}

double SampleRng::uniform() {
    return static_cast<double>(next() >> 11) * 0x1p-53;
}

double SampleRng::normal() {
    double const radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::uint64_t SampleRng::below(std::uint64_t end) {
    OSORA_CHECK(end > 0);
    // Draws in the last, incomplete group of `end` values are taken again.
    std::uint64_t const spill = (0 - end) % end;
    std::uint64_t draw = next();
    while (draw < spill) draw = next();
    return draw % end;
}

}  // namespace osora::worker
