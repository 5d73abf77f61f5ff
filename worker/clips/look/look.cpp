// Samples go through the schedule, fill_sample() and the manifest reader of the trainer; here is
// only the choice of clips and their places in the picture. LibTorch has no part in it: it first
// sees the RGB bytes that are drawn here.
#include "worker/clips/look/look.hpp"

#include "base/text/nearest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "plan/buckets/loader_memory.hpp"
#include "worker/clips/look/clip_sheet.hpp"
#include "worker/clips/look/look_sample.hpp"
#include "worker/clips/look/look_source.hpp"
#include "worker/data/video_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace osora::worker {
namespace {

constexpr int kPictureSideMax = 16'384;

/// The rows that `word` names: a path as the list writes it, an absolute one, or a line.
Result<std::vector<ListedClip const*>> rows_named(std::vector<ListedClip> const& listed,
                                                  std::string const& manifest,
                                                  std::string const& word) {
    std::vector<ListedClip const*> found;
    std::vector<std::string_view> names;
    auto const line = whole_number<int>(word);
    for (ListedClip const& each : listed) {
        names.push_back(each.name);
        if (each.name == word || each.clip.path == word) found.push_back(&each);
    }
    for (ListedClip const& each : listed)
        if (found.empty() && line && each.clip.line == *line) return std::vector{&each};
    if (!found.empty()) return found;
    std::string const where = fmt::format("--clip {}: {} ", printable(word), manifest);
    if (line) {
        return invalid(where + fmt::format("has no clip in this line; its clips are in lines {} to "
                                           "{}",
                                           listed.front().clip.line, listed.back().clip.line));
    }
    auto const near = nearest_name(word, names);
    return invalid(where + "lists no such path" +
                   (near ? fmt::format("; did you mean {}?", printable(*near)) : std::string()));
}

/// The rows to draw, in the order of the options or of the list.
Result<std::vector<ListedClip const*>> rows_to_show(LookSource const& source,
                                                    protocol::ClipLookRequest const& request) {
    std::vector<ListedClip const*> rows;
    for (std::string const& word : request.chosen) {
        OSORA_TRY(auto const named, rows_named(source.listed(), request.manifest, word));
        rows.insert(rows.end(), named.begin(), named.end());
    }
    if (!request.chosen.empty()) return rows;
    std::vector<ListedClip const*> all;
    for (ListedClip const& each : source.listed()) {
        if (request.entry < 0 || source.is_in(each, request.entry)) all.push_back(&each);
    }
    std::size_t const wanted = std::min(all.size(), static_cast<std::size_t>(request.clips));
    for (std::size_t i = 0; i < wanted; ++i) rows.push_back(all[i * all.size() / wanted]);
    return rows;
}

FrameSize size_in_sheet(LookPlace const& place) {
    if (place.key.num_frames == 0) return kGreySize;
    return {.height = place.key.height, .width = place.key.width};
}

int frames_in_sheet(LookPlace const& place) {
    if (place.key.num_frames == 0) return kSheetFramesMax;
    return std::min(place.key.num_frames, kSheetFramesMax);
}

/// What would not fit is refused before anything is decoded.
Result<void> check_picture(std::vector<LookPlace> const& places, int width_max) {
    int height = kSheetGap_px;
    auto const memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    for (std::size_t i = 0; i < places.size(); ++i) {
        LookPlace const& place = places[i];
        height += ClipSheet::row_height(size_in_sheet(place), frames_in_sheet(place), width_max);
        if (height > kPictureSideMax) {
            return invalid(
                fmt::format("{} clips make a picture of more than {} rows of pixels; "
                            "nearest valid: {}, or a smaller --width",
                            places.size(), kPictureSideMax, i));
        }
        auto const bytes = static_cast<double>(plan::batch_bytes(place.key, 1));
        if (bytes > 0.8 * memory) {
            return invalid(
                fmt::format("a sample of {} x {} x {} takes {:.1f} GiB of the machine's "
                            "{:.1f}",
                            place.key.num_frames, place.key.height, place.key.width,
                            bytes / (1 << 30), memory / (1 << 30)));
        }
    }
    return {};
}

/// Draws one clip after the other.
class Looker {
public:
    Looker(LookSource const& source, protocol::ClipLookRequest const& request,
           ReaderProgram const& program)
        : source_(source), request_(request), drawer_(request, program) {}

    Result<protocol::LookedClip> look(LookPlace& place) {
        DrawnSample drawn;
        if (place.ref) {
            OSORA_TRY(drawn, drawer_.draw({.clip = source_.manifest().clips[*place.clip],
                                           .number = *place.clip,
                                           .random = place.ref->random,
                                           .key = place.key,
                                           .pixels_max = source_.pixels_max()}));
            place.damaged = drawn.fault.has_value();
            place.fault = std::move(drawn.fault);
        }
        if (place.fault)
            drawn.row = grey_row(size_in_sheet(place), frames_in_sheet(place), request_.width_max);
        sheet_.add(std::move(drawn.row));
        return described(place, std::move(drawn.said));
    }

    [[nodiscard]] RgbFrames picture() const { return sheet_.picture(); }

private:
    /// `looked`: what is known of its sample.
    protocol::LookedClip described(LookPlace const& place, protocol::LookedClip looked) const {
        looked.line = place.listed->clip.line;
        looked.path = said_text(place.listed->name);
        if (place.fault) {
            looked.kind = place.fault->kind;
            looked.reason = said_text(place.fault->reason);
            looked.damaged = place.damaged;
        } else {
            looked.fps = source_.manifest().clips[*place.clip].fps;
        }
        if (place.key.num_frames > 0) add_bucket(place, looked);
        return looked;
    }

    void add_bucket(LookPlace const& place, protocol::LookedClip& looked) const {
        looked.resolution = request_.buckets[place.entry].resolution;
        looked.num_frames = place.key.num_frames;
        looked.height = place.key.height;
        looked.width = place.key.width;
        looked.share = place.share;
        looked.reduced =
            sheet_factor(size_in_sheet(place), frames_in_sheet(place), request_.width_max);
    }

    LookSource const& source_;
    protocol::ClipLookRequest const& request_;
    SampleDrawer drawer_;
    ClipSheet sheet_;
};

Result<void> check_look(protocol::ClipLookRequest const& request) {
    auto const buckets = static_cast<int>(request.buckets.size());
    bool const good = request.clips >= 1 && request.width_max >= 1 &&
                      request.width_max <= kPictureSideMax && request.deadline_s > 0 &&
                      request.entry >= -1 && request.entry < buckets && request.multiple >= 1 &&
                      !request.out.empty();
    return good ? Result<void>() : invalid("look: a number is out of its range");
}

}  // namespace

Result<protocol::ClipLook> look_clips(protocol::ClipLookRequest const& request,
                                      ReaderProgram const& program) {
    OSORA_TRY_VOID(check_look(request));
    OSORA_TRY(auto const source, LookSource::open(request));
    OSORA_TRY(auto const rows, rows_to_show(source, request));
    if (rows.empty()) {
        auto const& bucket = request.buckets[static_cast<std::size_t>(request.entry)];
        return invalid(fmt::format("{}: no clip is in bucket {}:{}", request.manifest,
                                   bucket.resolution, bucket.num_frames));
    }
    std::vector<LookPlace> places;
    for (ListedClip const* row : rows)
        places.push_back(source.place(*row, request.entry, request.deadline_s));
    OSORA_TRY_VOID(check_picture(places, request.width_max));
    protocol::ClipLook answer{.out = request.out,
                              .rows = static_cast<std::int64_t>(source.listed().size()),
                              .seed = request.seed,
                              .clips = {}};
    Looker looker(source, request, program);
    for (LookPlace& place : places) {
        OSORA_TRY(auto looked, looker.look(place));
        answer.clips.push_back(std::move(looked));
    }
    RgbFrames const picture = looker.picture();
    OSORA_TRY_VOID(write_png(request.out, picture));
    answer.height = picture.height;
    answer.width = picture.width;
    return answer;
}

}  // namespace osora::worker
