#include "worker/data/clip_pixels.hpp"

#include "base/check.hpp"
#include "plan/buckets/loader_memory.hpp"

#include <algorithm>

namespace osora::worker {
namespace {

/// Decoders work on whole blocks: 1080 rows are 1088 or 1152 to them.
std::int64_t blocks(int side) {
    return (std::int64_t{side} + 63) / 64 * 64;
}

std::int64_t coded_pixels_of(Clip const& clip) {
    return plan::coded_pixels(clip.height, clip.width);
}

/// What max_pixels must allow: FFmpeg's MPEG decoders apply it to a scratch image of 280 rows too,
/// which has up to 192 columns more than the picture.
std::int64_t pixels_allowed(Clip const& clip) {
    return std::max<std::int64_t>(blocks(clip.height), 320) * (blocks(clip.width) + 256);
}

std::int64_t largest(plan::Schedule const& schedule, Manifest const& manifest,
                     std::int64_t (*pixels)(Clip const&)) {
    std::int64_t most = 0;
    for (plan::Bucket const& bucket : schedule.buckets()) {
        for (std::uint32_t const clip : bucket.clips) {
            OSORA_CHECK_LT(clip, manifest.clips.size());
            most = std::max(most, pixels(manifest.clips[clip]));
        }
    }
    return most;
}

}  // namespace

std::int64_t coded_pixels_max(plan::Schedule const& schedule, Manifest const& manifest) {
    return largest(schedule, manifest, coded_pixels_of);
}

std::int64_t decode_pixels_max(plan::Schedule const& schedule, Manifest const& manifest) {
    return largest(schedule, manifest, pixels_allowed);
}

}  // namespace osora::worker
