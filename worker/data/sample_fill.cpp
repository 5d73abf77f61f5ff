// The chain of attempts for one sample.
#include "worker/data/sample_fill.hpp"

#include "base/check.hpp"
#include "plan/buckets/hash.hpp"
#include "worker/data/listed_size.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>

namespace osora::worker {

namespace {

/// Errors that say nothing of a clip's content.
bool is_unreadable(Errc code) {
    return code == Errc::io || code == Errc::timed_out || code == Errc::not_found;
}

/// Whether the rights of the file forbid to read it: no outage, and it stays so.
bool is_forbidden(std::string const& path) {
    int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == EACCES || errno == EPERM;
    ::close(fd);
    return false;
}

/// The attempts for one sample.
class SampleFill {
public:
    SampleFill(SampleSource const& source, plan::SampleRef const& ref, ClipDecoder& decoder)
        : source_(source),
          ref_(ref),
          decoder_(decoder),
          bucket_(source.schedule.buckets()[ref.bucket]),
          filled_{.sample = {.ref = ref, .clip = ref.clip, .start_frame = 0}, .bad = {}} {}

    Result<FilledSample> run(std::span<std::uint8_t> out) {
        std::uint64_t const own =
            source_.replace_bad
                ? std::min<std::uint64_t>(bucket_.clips.size(), kReplacementsMax + 1)
                : 1;
        std::uint64_t const most = own + (source_.replace_bad ? kReplacementsMax : 0);
        std::uint64_t attempt = 0;
        for (; attempt < most && (attempt < own || any_bucket_); ++attempt) {
            std::uint32_t const index = clip_of(attempt, own);
            if (attempt >= own && !is_long_enough(index)) continue;
            auto const taken = take(index, out);
            end();
            if (taken.has_error()) return taken.error();
            if (*taken) return std::move(filled_);
        }
        filled_.sample.missing = !source_.replace_bad;
        if (!source_.replace_bad) return std::move(filled_);
        return none_of(attempt);
    }

    /// What an exception means for the sample, with the clip in work.
    [[nodiscard]] Error thrown(std::exception const& error) const {
        bool const lacks_memory = dynamic_cast<std::bad_alloc const*>(&error) != nullptr;
        return {lacks_memory ? Errc::out_of_memory : Errc::io,
                fmt::format("loader: {}: {}", clip_at(filled_.sample.clip).path,
                            lacks_memory ? "malloc has no memory" : error.what())};
    }

private:
    [[nodiscard]] int window_frames() const {
        return (bucket_.key.num_frames - 1) * source_.frame_stride + 1;
    }
    [[nodiscard]] Clip const& clip_at(std::uint32_t index) const {
        OSORA_CHECK_LE(source_.first_clip, index);
        OSORA_CHECK_LT(index - source_.first_clip, source_.manifest.clips.size());
        return source_.manifest.clips[index - source_.first_clip];
    }
    [[nodiscard]] bool is_long_enough(std::uint32_t index) const {
        return clip_at(index).num_frames >= window_frames();
    }

    /// Its own clip, others of the bucket, then any clip.
    [[nodiscard]] std::uint32_t clip_of(std::uint64_t attempt, std::uint64_t own) const {
        if (attempt == 0) return ref_.clip;
        if (attempt < own) return source_.schedule.replacement(ref_, attempt - 1);
        std::uint64_t const hash = plan::hash64({ref_.random, ref_.clip, attempt});
        return source_.first_clip +
               static_cast<std::uint32_t>(plan::below(hash, source_.manifest.clips.size()));
    }

    /// Tries a clip; false: it is bad, and that is noted. Errors: cancelled.
    Result<bool> take(std::uint32_t index, std::span<std::uint8_t> out) {
        Clip const& clip = clip_at(index);
        if (!filled_.bad.empty() && filled_.bad.back().replacement.empty())
            filled_.bad.back().replacement = clip.path;
        filled_.sample.clip = index;
        bool const known = is_known_bad(index, clip);
        auto const decoded = decoded_unless_known(index, clip, out);
        if (decoded.has_error() && decoded.error().code == Errc::cancelled) return decoded.error();
        bool const fits = decoded && is_as_listed(clip);
        if (fits) measure(index, clip);
        int const frames = source_.lengths->frames(index, clip.num_frames);
        bool const unread = decoded.has_error() && is_unreadable(decoded.error().code);
        if (decoded && !fits) {
            // It is noted.
        } else if (frames < clip.num_frames && !unread) {
            note_listed_wrong(clip,
                              fmt::format("listed with {} frames, has {}", clip.num_frames, frames),
                              fits ? "its windows are taken from those" : "");
        } else if (decoded.has_error()) {
            note_failed(clip, decoded.error());
        }
        if (!fits && !known) look_for_outage(decoded);
        if (index == ref_.clip && !fits) any_bucket_ = filled_.bad.back().listed_wrong;
        return fits;
    }

    /// Without a look at its file.
    [[nodiscard]] bool is_known_bad(std::uint32_t index, Clip const& clip) const {
        return clip.crashed || clip.gone ||
               source_.lengths->frames(index, clip.num_frames) < window_frames();
    }

    /// What a bad clip says about the file system. One that takes too long says nothing: it may be
    /// slow to decode.
    void look_for_outage(Result<void> const& decoded) {
        bool const slow = decoded.has_error() && decoded.error().code == Errc::timed_out;
        if (slow) return;
        bool const unread = decoded.has_error() && filled_.bad.back().unreadable;
        (unread ? any_unread_ : any_read_) = true;
    }

    Result<void> decoded_unless_known(std::uint32_t index, Clip const& clip,
                                      std::span<std::uint8_t> out) {
        if (clip.crashed) return Error{Errc::corrupt, std::string(kCrashedText)};
        if (clip.gone) return Error{Errc::not_found, "no such file"};
        return decode(index, clip, out);
    }

    /// What players show of the decoded picture against the row; what differs is noted.
    bool is_as_listed(Clip const& clip) {
        FrameSize const listed{.height = clip.height, .width = clip.width};
        PictureSizes const& file = decoder_.sizes();
        auto const differs = size_difference(listed, file);
        if (differs.empty()) return true;
        bool const fits = fits_as_listed(
            listed, file.shown, {.height = bucket_.key.height, .width = bucket_.key.width});
        if (fits) {
            note_listed_wrong(clip, differs, "it fits its bucket all the same");
        } else {
            note_listed_wrong(clip, fmt::format("{}; {}", differs, kSizesAdvice), "");
        }
        return fits;
    }

    /// The decoder's next call, which has a separate deadline, starts now.
    void begin(std::uint32_t index) {
        end();
        if (source_.timer != nullptr) source_.timer->begin(index, ClipTimer::Time::clock::now());
    }
    void end() {
        if (source_.after_call) source_.after_call();
        if (source_.timer != nullptr) source_.timer->end();
    }

    void measure(std::uint32_t index, Clip const& clip) {
        LoadedSample& sample = filled_.sample;
        sample.height = decoder_.sizes().shown.height;
        sample.width = decoder_.sizes().shown.width;
        sample.num_frames = source_.lengths->frames(index, clip.num_frames);
        if (!source_.count_frames) return;
        begin(index);
        auto const facts = decoder_.probe(clip.path);
        if (facts.has_error()) return;  // it was decoded: the row's figure must suffice
        sample.num_frames = facts->num_frames;
        if (facts->num_frames < clip.num_frames) source_.lengths->found(index, facts->num_frames);
    }

    /// The window is drawn from the frames that are listed. Where it does not fit those that are
    /// there, it is drawn again from them: whether they are known already makes no difference.
    Result<void> decode(std::uint32_t index, Clip const& clip, std::span<std::uint8_t> out) {
        int frames = clip.num_frames;
        for (;;) {
            int const known = source_.lengths->frames(index, clip.num_frames);
            if (known < window_frames()) return Error{Errc::corrupt, "it is too short"};
            auto start = window_start_frame(ref_, frames, index, window_frames());
            if (start + window_frames() > known) {
                frames = known;
                start = window_start_frame(ref_, frames, index, window_frames());
            }
            filled_.sample.start_frame = start;
            begin(index);
            auto const decoded =
                decoder_.decode(clip.path,
                                {.start = start,
                                 .stride = source_.frame_stride,
                                 .num_frames = bucket_.key.num_frames},
                                {.height = bucket_.key.height, .width = bucket_.key.width}, out);
            if (decoded || decoded.error().code != Errc::corrupt) return decoded;
            begin(index);
            auto const facts = decoder_.probe(clip.path);
            if (facts.has_error() || facts->num_frames >= known) return decoded;
            source_.lengths->found(index, facts->num_frames);
        }
    }

    void note(Clip const& clip, std::string reason, bool listed_wrong) {
        filled_.bad.push_back({.path = clip.path,
                               .reason = std::move(reason),
                               .sample = ref_,
                               .replacement = {},
                               .listed_wrong = listed_wrong});
    }

    void note_failed(Clip const& clip, Error const& error) {
        bool const forbidden = error.code == Errc::io && is_forbidden(clip.path);
        note(clip, (forbidden ? "no permission: " : "") + error.message, clip.gone || clip.crashed);
        BadClip& bad = filled_.bad.back();
        bad.code = error.code;
        bad.unreadable = !clip.gone && !forbidden && is_unreadable(error.code);
    }

    /// `used`: how the clip is used all the same; "": it is not.
    void note_listed_wrong(Clip const& clip, std::string const& what, std::string const& used) {
        note(clip, used.empty() ? what : what + "; " + used, true);
        if (!used.empty()) filled_.bad.back().replacement = clip.path;
    }

    [[nodiscard]] Error none_of(std::uint64_t attempts) const {
        BadClip const& last = filled_.bad.back();
        bool const away = any_unread_ && !any_read_;
        return {away ? Errc::unreachable : Errc::corrupt,
                fmt::format("bucket {} x {} x {}: none of {} clips could be {}; the last, {}: {}",
                            bucket_.key.num_frames, bucket_.key.height, bucket_.key.width, attempts,
                            away ? "read" : "decoded", last.path, last.reason)};
    }

    SampleSource const& source_;
    plan::SampleRef const& ref_;
    ClipDecoder& decoder_;
    plan::Bucket const& bucket_;
    FilledSample filled_;
    bool any_bucket_ = false;  // the list is wrong about its own clip
    // Of the clips that were tried and not taken.
    bool any_unread_ = false;  // the file system failed, or has no such file
    bool any_read_ = false;    // the file system gave it
};

}  // namespace

int ClipLengths::frames(std::uint32_t clip, int listed) const {
    std::lock_guard const lock(mutex_);
    auto const found = frames_.find(clip);
    return found == frames_.end() ? listed : found->second;
}

void ClipLengths::found(std::uint32_t clip, int frames) {
    std::lock_guard const lock(mutex_);
    frames_[clip] = frames;
}

std::int64_t window_start_frame(plan::SampleRef const& ref, int frames, std::uint32_t clip_index,
                                int window_frames) {
    std::int64_t const places = std::int64_t{frames} - window_frames + 1;
    if (places <= 1) return 0;
    std::uint64_t const hash = plan::hash64({ref.random, clip_index});
    return static_cast<std::int64_t>(plan::below(hash, static_cast<std::uint64_t>(places)));
}

Result<FilledSample> fill_sample(SampleSource const& source, plan::SampleRef const& ref,
                                 ClipDecoder& decoder, std::span<std::uint8_t> out) {
    OSORA_CHECK(source.lengths != nullptr);
    SampleFill fill(source, ref, decoder);
    try {
        return fill.run(out);
    } catch (std::exception const& error) {  // it would end the process from a decoding thread
        return fill.thrown(error);
    }
}

}  // namespace osora::worker
