// The mask strategies, and the draw of one of them.
#include "worker/train/objective/frame_mask.hpp"

#include "base/check.hpp"
#include "base/text/nearest.hpp"
#include "plan/config/frame_masks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::worker {
namespace {

constexpr auto& kNames = plan::kFrameMasks;  // in the order of MaskStrategy

constexpr double kSumTolerance = 1e-6;

/// What a strategy of one block of frames gives away.
struct Block {
    bool quarter = false;  // up to a quarter of the frames; else one
    bool anywhere = false;
    bool head = false;
    bool tail = false;
};

Block block_of(MaskStrategy strategy) {
    switch (strategy) {
        case MaskStrategy::quarter_random:
            return {.quarter = true, .anywhere = true};
        case MaskStrategy::quarter_head:
            return {.quarter = true, .head = true};
        case MaskStrategy::quarter_tail:
            return {.quarter = true, .tail = true};
        case MaskStrategy::quarter_head_tail:
            return {.quarter = true, .head = true, .tail = true};
        case MaskStrategy::image_random:
            return {.anywhere = true};
        case MaskStrategy::image_head:
            return {.head = true};
        case MaskStrategy::image_tail:
            return {.tail = true};
        case MaskStrategy::image_head_tail:
            return {.head = true, .tail = true};
        default:
            return {};
    }
}

void give(std::vector<bool>& mask, int first, int count) {
    std::fill_n(mask.begin() + first, count, false);
}

void give_block(std::vector<bool>& mask, Block const& block, int largest, MaskDraws const& draws) {
    auto const frames = static_cast<int>(mask.size());
    int const size = block.quarter ? draws.integer(1, largest) : 1;
    if (block.anywhere) give(mask, draws.integer(0, frames - size), size);
    if (block.head) give(mask, 0, size);
    if (block.tail) give(mask, frames - size, size);
}

/// Makes at least one frame noised.
void keep_one(std::vector<bool>& mask) {
    if (std::ranges::find(mask, true) == mask.end()) mask.back() = true;
}

}  // namespace

Result<MaskStrategy> mask_strategy(std::string_view name) {
    auto const* found = std::ranges::find(kNames, name);
    if (found != kNames.end()) return static_cast<MaskStrategy>(found - kNames.begin());
    auto const nearest = nearest_name(name, kNames);
    return Error{
        Errc::invalid_input,
        fmt::format("mask strategy \"{}\": unknown; {}{}", name,
                    nearest ? "did you mean " : "known are ",
                    nearest ? std::string(*nearest) : fmt::format("{}", fmt::join(kNames, ", ")))};
}

std::string_view mask_strategy_name(MaskStrategy strategy) {
    return kNames.at(static_cast<std::size_t>(strategy));
}

MaskDraws draws_from(SampleRng& rng) {
    return {.pick = [&rng] { return rng.uniform(); },
            .integer =
                [&rng](int first, int last) {
                    return first + static_cast<int>(
                                       rng.below(static_cast<std::uint64_t>(last - first) + 1));
                },
            .real = [&rng](double low, double high) { return low + (high - low) * rng.uniform(); },
            .frame = [&rng] { return static_cast<float>(rng.next() >> 40) * 0x1p-24f; }};
}

Result<std::vector<bool>> frame_mask(MaskStrategy strategy, int num_frames, MaskRule rule,
                                     MaskDraws const& draws) {
    OSORA_CHECK_LE(1, num_frames);
    std::vector<bool> mask(static_cast<std::size_t>(num_frames), true);
    if (num_frames == 1) return mask;
    Block const block = block_of(strategy);
    int const quarter = num_frames / 4;
    if (block.quarter && quarter == 0 && rule == MaskRule::original) {
        return Error{Errc::invalid_input,
                     fmt::format("mask {}: a quarter of {} frames is none (original rule)",
                                 mask_strategy_name(strategy), num_frames)};
    }
    if (strategy == MaskStrategy::intepolate) {
        for (int frame = draws.integer(0, 1); frame < num_frames; frame += 2) give(mask, frame, 1);
    } else if (strategy == MaskStrategy::random) {
        // The frames' numbers are fp32, and so is what they are compared with.
        auto const given = static_cast<float>(draws.real(0.1, 0.9));
        for (std::size_t frame = 0; frame < mask.size(); ++frame) {
            mask[frame] = draws.frame() > given;
        }
        keep_one(mask);
    } else if (strategy != MaskStrategy::identity) {
        give_block(mask, block, std::max(quarter, 1), draws);
    }
    if (rule == MaskRule::osora) keep_one(mask);
    return mask;
}

Result<MaskMixture> MaskMixture::make(std::vector<Part> parts, MaskRule rule) {
    std::string faults;
    double sum = 0.0;
    for (auto part = parts.begin(); part != parts.end(); ++part) {
        auto const name = mask_strategy_name(part->strategy);
        if (!(part->weight >= 0.0 && part->weight <= 1.0)) {
            faults += fmt::format("{} {} is outside [0, 1]; ", name, part->weight);
        }
        if (std::ranges::find(parts.begin(), part, part->strategy, &Part::strategy) != part) {
            faults += fmt::format("{} is given twice; ", name);
        }
        sum += part->weight;
    }
    bool const named =
        std::ranges::find(parts, MaskStrategy::identity, &Part::strategy) != parts.end();
    bool const whole = sum <= 1.0 + kSumTolerance && (!named || sum >= 1.0 - kSumTolerance);
    if (!whole) {
        faults += fmt::format("the weights sum to {}, not {}1; ", sum, named ? "" : "at most ");
    }
    if (!faults.empty()) {
        faults.resize(faults.size() - 2);
        return Error{Errc::invalid_input, "mask weights: " + faults};
    }
    if (!named) parts.push_back({MaskStrategy::identity, std::max(1.0 - sum, 0.0)});
    MaskMixture mixture;
    mixture.parts_ = std::move(parts);
    mixture.rule_ = rule;
    return mixture;
}

MaskStrategy MaskMixture::strategy_at(double pick) const {
    double reached = 0.0;
    for (Part const& part : parts_) {
        reached += part.weight;
        if (pick < reached) return part.strategy;
    }
    return MaskStrategy::identity;  // the weights sum to a little less than 1
}

Result<std::vector<bool>> MaskMixture::draw(int num_frames, MaskDraws const& draws) const {
    return frame_mask(strategy_at(draws.pick()), num_frames, rule_, draws);
}

}  // namespace osora::worker
