// Samples go through the schedule, fill_sample() and the manifest reader of the trainer; here is
// only the choice of clips, and why one is not shown. LibTorch has no part in it: it first sees the
// RGB bytes that are drawn here.
#include "worker/clips/look.hpp"

#include "base/text/nearest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "plan/buckets/crop.hpp"
#include "plan/buckets/loader_memory.hpp"
#include "worker/clips/clip_sheet.hpp"
#include "worker/clips/look_source.hpp"
#include "worker/data/contact_sheet.hpp"
#include "worker/data/sample_fill.hpp"
#include "worker/data/video_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace osora::worker {
namespace {

constexpr int kPictureSideMax = 16'384;

std::string said_text(std::string const& text) {
    return is_utf8(text) ? text : printable(text);
}

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

/// Fills and draws one clip after the other.
class Looker {
public:
    Looker(LookSource const& source, protocol::ClipLookRequest const& request)
        : source_(source),
          request_(request),
          decoder_({.deadline_s = request.deadline_s, .pixels_max = source.pixels_max()}),
          sheet_(request.width_max) {}

    Result<protocol::LookedClip> look(LookPlace& place) {
        RgbFrames frames{.pixels = {},
                         .frames = place.key.num_frames,
                         .height = place.key.height,
                         .width = place.key.width};
        std::optional<FilledSample> filled;
        if (place.ref) {
            frames.pixels.resize(static_cast<std::size_t>(frames.frames) * frames.frame_bytes());
            SampleSource const source{.schedule = source_.schedule(),
                                      .manifest = source_.manifest(),
                                      .replace_bad = false,
                                      .count_frames = true,
                                      .lengths = &lengths_};
            OSORA_TRY(filled, fill_sample(source, *place.ref, decoder_, frames.pixels));
            if (filled->sample.missing) {
                place.fault = fault(place, *filled);
                place.damaged = true;
            }
        }
        if (place.fault) {
            sheet_.add_grey(size_in_sheet(place), frames_in_sheet(place));
        } else {
            sheet_.add(frames);
        }
        return described(place, filled);
    }

    [[nodiscard]] RgbFrames picture() const { return sheet_.picture(); }

private:
    /// In the words of `osora data check`.
    ClipFault fault(LookPlace const& place, FilledSample const& filled) {
        auto const& bad = filled.bad;
        Clip const& clip = source_.manifest().clips[*place.clip];
        std::string const reason = bad.empty() ? "it cannot be decoded" : bad.back().reason;
        auto const facts = decoder_.probe(clip.path);
        if (facts.has_error()) return fault_of(facts.error(), clip.path, request_.deadline_s);
        if (facts->num_frames < place.key.num_frames) {
            return {.kind = "short",
                    .reason = fmt::format("it has {}, the row says {}, the bucket needs {}",
                                          counted(facts->num_frames, "frame"), clip.num_frames,
                                          place.key.num_frames)};
        }
        if (!bad.empty() && bad.back().listed_wrong) return {.kind = "size", .reason = reason};
        auto const again = decoder_.verify(
            clip.path, {.start = filled.sample.start_frame, .num_frames = place.key.num_frames});
        if (again.has_error()) return fault_of(again.error(), clip.path, request_.deadline_s);
        return {.kind = "damaged", .reason = reason};
    }

    protocol::LookedClip described(LookPlace const& place,
                                   std::optional<FilledSample> const& filled) const {
        protocol::LookedClip looked{.line = place.listed->clip.line,
                                    .path = said_text(place.listed->name),
                                    .kind = {},
                                    .reason = {},
                                    .resolution = {},
                                    .frames = {},
                                    .shown = {}};
        if (place.fault) {
            looked.kind = place.fault->kind;
            looked.reason = said_text(place.fault->reason);
            looked.damaged = place.damaged;
        }
        if (place.key.num_frames > 0) add_bucket(place, looked);
        if (place.fault) return looked;
        LoadedSample const& sample = filled->sample;
        if (!filled->bad.empty()) looked.reason = said_text(filled->bad.back().reason);
        looked.source_frames = sample.num_frames;
        looked.source_height = sample.height;
        looked.source_width = sample.width;
        looked.fps = source_.manifest().clips[sample.clip].fps;
        for (int i = 0; i < place.key.num_frames; ++i)
            looked.frames.push_back(sample.start_frame + i);
        for (int const index : spread_frames(place.key.num_frames, kSheetFramesMax))
            looked.shown.push_back(looked.frames[static_cast<std::size_t>(index)]);
        auto const crop = plan::centre_crop(sample.width, sample.height,
                                            {.height = place.key.height, .width = place.key.width});
        looked.crop_x = crop.x;
        looked.crop_y = crop.y;
        looked.crop_width = crop.width;
        looked.crop_height = crop.height;
        looked.scale = static_cast<double>(place.key.width) / crop.width;
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
    ClipLengths lengths_;
    ClipDecoder decoder_;
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

Result<protocol::ClipLook> look_clips(protocol::ClipLookRequest const& request) {
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
    Looker looker(source, request);
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
