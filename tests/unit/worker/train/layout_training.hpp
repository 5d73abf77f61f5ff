// Training a tiny network in a layout, on ranks that are threads, and what came of it on all ranks.
#pragma once

#include "tests/unit/worker/parallel/layouts.hpp"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::worker {

using Weights = std::map<std::string, at::Tensor>;  // flattened

/// With Layout::captions: text tokens of each sample, and those that its mask keeps.
inline constexpr std::int64_t kCaptionTokens = 8;
inline std::int64_t caption_length(std::int64_t sample) {
    return 3 + sample % 5;
}

struct Trained {
    std::vector<double> losses, norms;                  // of the global batch
    double held_out = 0;                                // its loss after the last step
    std::vector<protocol::CollectiveCost> collectives;  // of rank 0 in the last step
    Weights weights, ema;
    Weights moments;  // the first ones of AdamW: averages of the gradients
};

/// Whether OSORA_EVERY_LAYOUT is set (soak); else a test tries a part of them, which it names.
bool all_layouts();

struct Course {
    int first = 0, last = all_layouts() ? 3 : 2;  // steps
    std::filesystem::path from = {};              // a checkpoint; empty: initial weights
    std::filesystem::path save_to = {};           // a folder, at the end; empty: not at all
};

Trained train(Layout const& layout, Course const& course = {});

/// From the initial weights, once in a process.
Trained const& trained_in(Layout const& layout);

void expect_near(Weights const& got, Weights const& expected, double tolerance);

/// Of the last step; zeros where it had none of that name.
protocol::CollectiveCost cost_of(Trained const& trained, std::string const& name);

/// Those that are compared with one rank: all, or so many that any two settings that occur together
/// in one of them occur together in one that is tried.
std::vector<Layout> layouts();

}  // namespace osora::worker
