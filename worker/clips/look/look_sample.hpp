// Private to worker/clips: fills and draws the sample of one clip. `osora-clips look` has a child
// do it, `osora-clips draw`, so that a crash of FFmpeg costs one row of the picture.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/shapes.hpp"
#include "protocol/clip_look.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/isolate/clip_child.hpp"
#include "worker/data/frames/rgb_frames.hpp"
#include "worker/data/manifest.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace osora::worker {

struct LookSample {
    Clip clip = {};               // its row
    std::uint32_t number = 0;     // of the clip in the list
    std::uint64_t random = 0;     // of the sample
    plan::BucketKey key = {};     // of its bucket
    std::int64_t pixels_max = 0;  // larger source pictures are refused
};

struct DrawnSample {
    protocol::LookedClip said = {};  // source, frames, shown, crop, scale, and a note as reason
    RgbFrames row = {};              // of the picture
    std::optional<ClipFault> fault =
        {};  // in the words of `osora data check`; then there is no row
};

class SampleDrawer {
public:
    /// Without a program here. Of the request: deadline_s, width_max.
    SampleDrawer(protocol::ClipLookRequest const& request, ReaderProgram const& program);
    /// Through fill_sample(), without replacements. Errors: those of ClipWorker::ask().
    [[nodiscard]] Result<DrawnSample> draw(LookSample const& sample);

private:
    int width_max_;
    ClipWorker worker_;
};

/// As JSON can hold it.
[[nodiscard]] std::string said_text(std::string const& text);

}  // namespace osora::worker
