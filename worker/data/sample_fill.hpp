// Private to worker/data: fills one sample into its place in a batch. If its clip cannot be
// decoded, other clips of the bucket are tried in an order that depends only on the sample, and for
// a clip that is gone, crashed FFmpeg, or is of another size than listed, those of other buckets
// after them. If the list has too many frames, the file's number is used for windows.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/schedule.hpp"
#include "worker/data/clip_timer.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/loader.hpp"
#include "worker/data/manifest.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace osora::worker {

constexpr std::uint64_t kReplacementsMax = 32;  // clips tried after the first

struct FilledSample {
    LoadedSample sample;
    std::vector<BadClip> bad;  // in the order of the attempts
};

/// Frames of clips for which the list has too many, as found by decoding; from any thread. They are
/// properties of the files: a sample is the same whichever thread asked first.
class ClipLengths {
public:
    [[nodiscard]] int frames(std::uint32_t clip, int listed) const;
    void found(std::uint32_t clip, int frames);

private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint32_t, int> frames_;
};

/// The source of samples; the schedule's clip indices are the manifest's, plus first_clip.
struct SampleSource {
    plan::Schedule const& schedule;
    Manifest const& manifest;
    std::uint32_t first_clip = 0;  // number of the manifest's first clip, if it is a part of a list
    int frame_stride = 1;
    bool replace_bad = true;
    bool count_frames = false;       // LoadedSample::num_frames comes from the file
    ClipLengths* lengths = nullptr;  // must be given
    ClipTimer* timer = nullptr;      // of the thread; optional
    /// After each call of the decoder, before its time ends; optional.
    std::function<void()> after_call = {};
};

/// The first frame of the window in a clip of `frames`: uniform over the places where it fits, by
/// (sample, clip).
[[nodiscard]] std::int64_t window_start_frame(plan::SampleRef const& ref, int frames,
                                              std::uint32_t clip_index, int window_frames);

/// `out`: num_frames x height x width x 3 bytes of the sample's bucket. Without replacements a bad
/// clip's sample is `missing`. Errors: corrupt (the clip and every allowed replacement are bad),
/// unreachable (the file system gives none of them), cancelled; out_of_memory and io name the clip
/// whose decoding threw an exception.
[[nodiscard]] Result<FilledSample> fill_sample(SampleSource const& source,
                                               plan::SampleRef const& ref, ClipDecoder& decoder,
                                               std::span<std::uint8_t> out);

}  // namespace osora::worker
