#include "worker/jobs/calibrate/calibrate_decode.hpp"

#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"
#include "worker/data/row_figures.hpp"
#include "worker/data/skipped_rows.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::size_t kClips = 16;
constexpr int kFramesMax = 16;
constexpr int kSide = 64;  // pixels that pictures are resized to

struct Decoded {
    double seconds = 0;
    double megapixels = 0;
};

/// With the figures that its row lacks.
Result<Clip> with_figures(Clip clip) {
    if (clip.num_frames > 0 && clip.height > 0 && clip.width > 0) return clip;
    OSORA_TRY(ClipFacts const facts, ClipDecoder().probe(clip.path));
    fill_figures(clip, facts);
    return clip;
}

Result<Decoded> decode(Clip const& row) {
    OSORA_TRY(Clip const clip, with_figures(row));
    int const frames = std::min(kFramesMax, clip.num_frames);
    FrameWindow const window{(clip.num_frames - frames) / 2, 1, frames};
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(frames) * kSide * kSide * 3);
    ClipDecoder decoder;
    auto const begin = std::chrono::steady_clock::now();
    OSORA_TRY_VOID(decoder.decode(clip.path, window, {kSide, kSide}, pixels));
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    double const picture = static_cast<double>(clip.height) * clip.width / 1e6;
    return Decoded{took.count(), picture * static_cast<double>(decoder.counts().frames_decoded)};
}

}  // namespace

Result<double> decode_ms_per_megapixel(std::filesystem::path const& manifest,
                                       plan::ColumnNames const& columns) {
    // No other file of the list is opened: it may have millions.
    OSORA_TRY(auto list, list_clips(manifest, columns));
    auto const unusable = [](ListedClip const& each) { return !each.fault.empty(); };
    if (std::ranges::all_of(list, unusable)) {
        ListedClip const& first = list.front();
        return nothing_usable(list.size(), {first.clip.line, first.clip.path, first.fault})
            .in(manifest.string());
    }
    std::erase_if(list, unusable);
    Decoded sum;
    std::size_t const stride = (list.size() + kClips - 1) / kClips;
    Error last{Errc::corrupt, "no clip decodes"};
    for (std::size_t i = 0; i < list.size(); i += stride) {
        Decoded best{std::numeric_limits<double>::infinity(), 0};
        for (int repeat = 0; repeat < 2; ++repeat) {
            auto const decoded = decode(list[i].clip);
            if (decoded.has_error()) last = Error(decoded.error()).in(list[i].clip.path);
            if (decoded.has_value() && decoded->seconds < best.seconds) best = *decoded;
        }
        if (best.megapixels <= 0) continue;
        sum.seconds += best.seconds;
        sum.megapixels += best.megapixels;
    }
    if (sum.megapixels <= 0) return std::move(last).in(manifest.string());
    return 1e3 * sum.seconds / sum.megapixels;
}

}  // namespace osora::worker
