// The chain of attempts for one sample.
#include "worker/data/sample_fill.hpp"

#include "base/check.hpp"
#include "plan/buckets/hash.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {

std::int64_t window_start_frame(plan::SampleRef const& ref, Clip const& clip,
                                std::uint32_t clip_index, int window_frames) {
    std::int64_t const places = std::int64_t{clip.num_frames} - window_frames + 1;
    if (places <= 1) return 0;
    std::uint64_t const hash = plan::hash64({ref.random, clip_index});
    return static_cast<std::int64_t>(plan::below(hash, static_cast<std::uint64_t>(places)));
}

Result<FilledSample> fill_sample(SampleSource const& source, plan::SampleRef const& ref,
                                 ClipDecoder& decoder, std::span<std::uint8_t> out) {
    auto const& [schedule, manifest, frame_stride, replace_bad] = source;
    plan::Bucket const& bucket = schedule.buckets()[ref.bucket];
    int const window_frames = (bucket.key.num_frames - 1) * frame_stride + 1;
    FrameSize const size{.height = bucket.key.height, .width = bucket.key.width};
    std::uint64_t const attempts =
        replace_bad ? std::min<std::uint64_t>(bucket.clips.size(), kReplacementsMax + 1) : 1;
    FilledSample filled{.sample = {.ref = ref, .clip = ref.clip, .start_frame = 0}, .bad = {}};
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
        std::uint32_t const index =
            attempt == 0 ? ref.clip : schedule.replacement(ref, attempt - 1);
        OSORA_CHECK_LT(index, manifest.clips.size());
        Clip const& clip = manifest.clips[index];
        if (!filled.bad.empty()) filled.bad.back().replacement = clip.path;
        filled.sample.clip = index;
        filled.sample.start_frame = window_start_frame(ref, clip, index, window_frames);
        FrameWindow const window{.start = filled.sample.start_frame,
                                 .stride = frame_stride,
                                 .num_frames = bucket.key.num_frames};
        auto const decoded = decoder.decode(clip.path, window, size, out);
        if (decoded) return filled;
        if (decoded.error().code == Errc::cancelled) return decoded.error();
        filled.bad.push_back({.path = clip.path,
                              .reason = decoded.error().message,
                              .sample = ref,
                              .replacement = {}});
    }
    filled.sample.missing = !replace_bad;
    if (!replace_bad) return filled;
    BadClip const& last = filled.bad.back();
    return Error{Errc::corrupt,
                 fmt::format("bucket {} x {} x {}: none of {} clips could be decoded; the last, "
                             "{}: {}",
                             bucket.key.num_frames, bucket.key.height, bucket.key.width, attempts,
                             last.path, last.reason)};
}

}  // namespace osora::worker
