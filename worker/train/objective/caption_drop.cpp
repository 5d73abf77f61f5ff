#include "worker/train/objective/caption_drop.hpp"

#include "worker/memory/upload.hpp"
#include "worker/train/sample_rng.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace osora::worker {

std::vector<std::vector<bool>> draw_caption_drop(std::vector<SampleIdentity> const& samples,
                                                 std::uint64_t seed, double probability,
                                                 int parts) {
    std::vector<std::vector<bool>> drop(static_cast<std::size_t>(parts));
    for (SampleIdentity const& sample : samples) {
        SampleRng rng(sample_key(seed, sample.epoch, sample.id, RngPurpose::caption_drop));
        for (auto& part : drop) part.push_back(rng.uniform() < probability);
    }
    return drop;
}

at::Tensor drop_tensor(std::vector<bool> const& drop, at::Device device) {
    if (std::ranges::find(drop, true) == drop.end()) return {};
    at::Tensor const flags = at::zeros({static_cast<std::int64_t>(drop.size())}, at::kBool);
    std::ranges::copy(drop, flags.mutable_data_ptr<bool>());
    return uploaded(flags, device);
}

}  // namespace osora::worker
