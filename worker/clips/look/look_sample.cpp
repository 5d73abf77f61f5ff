// Between the two processes: numbers of a clip and of its sample one way, a LookedClip in JSON and
// the pixels of its row the other way.
#include "worker/clips/look/look_sample.hpp"

#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "plan/buckets/crop.hpp"
#include "plan/buckets/one_pass.hpp"
#include "protocol/json.hpp"
#include "worker/clips/look/clip_sheet.hpp"
#include "worker/clips/look/look.hpp"
#include "worker/data/contact_sheet.hpp"
#include "worker/data/sample_fill.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

namespace osora::worker {
namespace {

Error other_look_version() {
    return {Errc::corrupt, "osora-clips is of another version"};
}

Texts texts_of(LookSample const& sample) {
    Clip const& clip = sample.clip;
    std::array<std::int64_t, 10> const numbers{
        clip.num_frames,   clip.height,      clip.width,
        clip.gone ? 1 : 0, sample.number,    static_cast<std::int64_t>(sample.random),
        sample.key.height, sample.key.width, sample.key.num_frames,
        sample.pixels_max};
    Texts texts{clip.path};
    for (std::int64_t const number : numbers) texts.push_back(std::to_string(number));
    return texts;
}

Result<LookSample> look_sample_of(Texts const& texts) {
    std::array<std::int64_t, 10> numbers{};
    if (texts.size() != 1 + numbers.size()) return other_look_version();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto const number = whole_number<std::int64_t>(texts[i + 1]);
        if (!number) return other_look_version();
        numbers[i] = *number;
    }
    auto const small = [&numbers](std::size_t i) { return static_cast<int>(numbers[i]); };
    LookSample sample{.number = static_cast<std::uint32_t>(numbers[4]),
                      .random = static_cast<std::uint64_t>(numbers[5]),
                      .key = {.height = small(6), .width = small(7), .num_frames = small(8)},
                      .pixels_max = numbers[9]};
    sample.clip.path = texts.front();
    sample.clip.num_frames = small(0);
    sample.clip.height = small(1);
    sample.clip.width = small(2);
    sample.clip.gone = numbers[3] != 0;
    return sample;
}

/// The bucket of a sample, with its clip alone.
Result<plan::OnePassSchedule> bucket_of(LookSample const& sample) {
    plan::BucketSet set;
    set.buckets.push_back(
        {.entry = 0, .key = sample.key, .clips = {sample.number}, .shares = {1.0F}, .weight = 1.0});
    return plan::OnePassSchedule::make(std::move(set), {}, 0);
}

class SampleDrawing {
public:
    SampleDrawing(LookSample const& sample, protocol::ClipLookRequest const& request)
        : sample_(sample),
          request_(request),
          decoder_({.deadline_s = request.deadline_s, .pixels_max = sample.pixels_max}) {
        list_.clips.push_back(sample.clip);
    }

    /// Three texts: two are a fault.
    [[nodiscard]] Result<Texts> texts() {
        RgbFrames frames{.pixels = {},
                         .frames = sample_.key.num_frames,
                         .height = sample_.key.height,
                         .width = sample_.key.width};
        frames.pixels.resize(static_cast<std::size_t>(frames.frames) * frames.frame_bytes());
        OSORA_TRY(auto const schedule, bucket_of(sample_));
        ClipLengths lengths;
        SampleSource const source{.schedule = schedule,
                                  .manifest = list_,
                                  .first_clip = sample_.number,
                                  .replace_bad = false,
                                  .count_frames = true,
                                  .lengths = &lengths};
        plan::SampleRef const ref{.bucket = 0,
                                  .position = 0,
                                  .epoch = 0,
                                  .clip = sample_.number,
                                  .random = sample_.random};
        OSORA_TRY(auto const filled, fill_sample(source, ref, decoder_, frames.pixels));
        if (filled.sample.missing) {
            auto const why = fault(filled);
            return Texts{why.kind, said_text(why.reason)};
        }
        RgbFrames const row = sample_row(frames, request_.width_max);
        return Texts{protocol::encode(said(filled)), {row.pixels.begin(), row.pixels.end()}, ""};
    }

private:
    [[nodiscard]] ClipFault fault(FilledSample const& filled) {
        auto const& bad = filled.bad;
        Clip const& clip = sample_.clip;
        std::string const reason = bad.empty() ? "it cannot be decoded" : bad.back().reason;
        auto const facts = decoder_.probe(clip.path);
        if (facts.has_error()) return fault_of(facts.error(), clip.path, request_.deadline_s);
        if (facts->num_frames < sample_.key.num_frames) {
            return {.kind = "short",
                    .reason = fmt::format("it has {}, the row says {}, the bucket needs {}",
                                          counted(facts->num_frames, "frame"), clip.num_frames,
                                          sample_.key.num_frames)};
        }
        if (!bad.empty() && bad.back().listed_wrong) return {.kind = "size", .reason = reason};
        auto const again = decoder_.verify(
            clip.path, {.start = filled.sample.start_frame, .num_frames = sample_.key.num_frames});
        if (again.has_error()) return fault_of(again.error(), clip.path, request_.deadline_s);
        return {.kind = "damaged", .reason = reason};
    }

    [[nodiscard]] protocol::LookedClip said(FilledSample const& filled) const {
        plan::BucketKey const& key = sample_.key;
        LoadedSample const& sample = filled.sample;
        protocol::LookedClip looked;
        if (!filled.bad.empty()) looked.reason = said_text(filled.bad.back().reason);
        looked.source_frames = sample.num_frames;
        looked.source_height = sample.height;
        looked.source_width = sample.width;
        for (int i = 0; i < key.num_frames; ++i) looked.frames.push_back(sample.start_frame + i);
        for (int const index : spread_frames(key.num_frames, kSheetFramesMax))
            looked.shown.push_back(looked.frames[static_cast<std::size_t>(index)]);
        auto const crop = plan::centre_crop(sample.width, sample.height,
                                            {.height = key.height, .width = key.width});
        looked.crop_x = crop.x;
        looked.crop_y = crop.y;
        looked.crop_width = crop.width;
        looked.crop_height = crop.height;
        looked.scale = static_cast<double>(key.width) / crop.width;
        return looked;
    }

    LookSample const& sample_;
    protocol::ClipLookRequest const& request_;
    ClipDecoder decoder_;
    Manifest list_;  // of the clip alone
};

ClipWork drawing(protocol::ClipLookRequest const& request) {
    return [request](Texts const& asked) -> Result<Texts> {
        OSORA_TRY(auto const sample, look_sample_of(asked));
        return SampleDrawing(sample, request).texts();
    };
}

/// What the child needs to know.
protocol::ClipLookRequest draw_request(protocol::ClipLookRequest const& request) {
    protocol::ClipLookRequest asked;
    asked.deadline_s = request.deadline_s;
    asked.width_max = request.width_max;
    return asked;
}

ClipChild::Options draw_options(protocol::ClipLookRequest const& request) {
    return {.arguments = {"draw", protocol::encode(draw_request(request))},
            .deadline_s = request.deadline_s,
            .count = std::make_shared<CrashCount>()};
}

}  // namespace

SampleDrawer::SampleDrawer(protocol::ClipLookRequest const& request, ReaderProgram const& program)
    : width_max_(request.width_max),
      worker_(program, draw_options(request), drawing(draw_request(request))) {}

Result<DrawnSample> SampleDrawer::draw(LookSample const& sample) {
    OSORA_TRY(auto answer, worker_.ask(texts_of(sample)));
    DrawnSample drawn{.fault = std::move(answer.fault)};
    if (drawn.fault) return drawn;
    if (answer.texts.size() != 3) return other_look_version();
    OSORA_TRY(drawn.said, protocol::decode<protocol::LookedClip>(answer.texts[0]));
    auto const& key = sample.key;
    drawn.row = grey_row({.height = key.height, .width = key.width}, key.num_frames, width_max_);
    std::string const& pixels = answer.texts[1];
    if (pixels.size() != drawn.row.pixels.size()) return other_look_version();
    drawn.row.pixels.assign(pixels.begin(), pixels.end());
    return drawn;
}

std::string said_text(std::string const& text) {
    return is_utf8(text) ? text : printable(text);
}

Result<void> draw_clips(protocol::ClipLookRequest const& request) {
    return serve_clips(drawing(request));
}

}  // namespace osora::worker
