// Batches of decoded clips, one per step, made ahead by the loader's threads in a fixed number of
// slots. A batch depends only on (schedule, step, files): not on the number of workers, the rank
// count or where the run was resumed.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/loader_memory.hpp"
#include "plan/buckets/schedule.hpp"
#include "worker/data/manifest.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace osora::worker {

struct LoaderOptions {
    int num_workers = 2;      // decoding threads; 0: next() decodes
    int prefetch_factor = 2;  // batches ready or in progress while one is being trained on
    std::int64_t host_memory_bytes = std::int64_t{4} << 30;  // of this loader: slots and decoders
    int frame_stride = 1;                                    // with which the buckets were assigned
    int dp_rank = 0;
    int dp_size = 1;
    std::uint64_t start_step = 0;          // resume: the first step that next() gives
    std::uint64_t stop_step = UINT64_MAX;  // not prefetched past it
    double clip_deadline_s = 30.0;
    /// Called by next() while it waits, once for a clip that has been in work for slow_clip_s, with
    /// "PATH has been in work for 15 s ..."; without threads when the clip is done, with "PATH took
    /// 15 s ...". Below half a minute, so that a chain of slow clips gives signs before it is taken
    /// for a hang.
    std::function<void(std::string const&)> on_slow_clip = {};
    double slow_clip_s = 15.0;
    /// How long next() tries a sample again of whose clips the file system gives none; it says so
    /// by on_slow_clip.
    double wait_for_files_s = 0;
    double bad_share_max = 0.10;  // share of samples with an undecodable clip, checked after
    int bad_grace_samples = 50;   // this many samples
    /// false: a bad clip's sample is missing, which is not an error unless bad_grace_samples in a
    /// row are BadClip::unreadable.
    bool replace_bad = true;
    bool count_frames = false;  // LoadedSample::num_frames comes from the file, not from the list
};

/// A listed clip that could not be decoded for a sample, and what was used instead.
struct BadClip {
    std::string path;
    std::string reason;
    plan::SampleRef sample;
    std::string replacement;  // path of the next clip that was tried; empty: none
    /// The list is wrong, not the file: it has fewer frames than listed, or another size, is gone,
    /// or is known to crash FFmpeg. Reported once per clip, and not a bad sample; with `path` as
    /// replacement the clip is used anyway.
    bool listed_wrong = false;
    /// The file system failed, or the time was over: a later try may read it. Not its content, nor
    /// its rights.
    bool unreadable = false;
    Errc code = Errc::corrupt;  // of the attempt
};

/// "NAME: REASON; NAME instead".
[[nodiscard]] std::string bad_clip_text(BadClip const& bad);

struct LoadedSample {
    plan::SampleRef ref;
    std::uint32_t clip = 0;        // index in the manifest; ref.clip unless that clip was bad
    std::int64_t start_frame = 0;  // of the window, in the clip
    int num_frames = 0;            // of the whole clip, as far as is known
    int height = 0;                // of the whole clip, as far as known
    int width = 0;
    bool missing = false;  // the clip was bad and has no replacement: its pixels are undefined
};

/// One step's samples in a slot. Movable; releases the slot when destroyed.
class Batch {
public:
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    [[nodiscard]] std::uint64_t step() const;
    [[nodiscard]] std::size_t bucket() const;  // index in the schedule
    [[nodiscard]] plan::BucketKey const& key() const;
    /// (N, T, H, W, 3) uint8 RGB with N = samples().size() and T, H, W from key().
    [[nodiscard]] std::span<std::uint8_t const> pixels() const;
    [[nodiscard]] std::span<LoadedSample const> samples() const;
    [[nodiscard]] std::span<BadClip const> bad_clips() const;  // in the order of the samples
    [[nodiscard]] double data_wait_s() const;                  // how long next() blocked

private:
    friend class Loader;
    struct State;
    explicit Batch(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

class Loader {
public:
    /// Checks the memory first (out_of_memory with what would fit), allocates every slot, starts
    /// the threads. `schedule` and `manifest` must outlive the loader; clip indices are the
    /// schedule's.
    [[nodiscard]] static Result<std::unique_ptr<Loader>> start(plan::Schedule const& schedule,
                                                               Manifest const& manifest,
                                                               LoaderOptions const& options);
    /// What start() would take; its errors of options and memory.
    [[nodiscard]] static Result<plan::LoaderMemory> memory_for(plan::Schedule const& schedule,
                                                               Manifest const& manifest,
                                                               LoaderOptions const& options);
    Loader(Loader const&) = delete;
    Loader& operator=(Loader const&) = delete;
    ~Loader();  // cancels and joins; batches still in use stay valid

    /// The batch of `step`; steps must be consecutive from start_step. Errors: corrupt (a sample
    /// has no decodable clip, or too many clips are bad), out_of_memory and io (decoding threw an
    /// exception, or the file system is away), cancelled, busy (the caller uses every slot),
    /// invalid_input (not the next step). After an error other than busy the loader is finished.
    [[nodiscard]] Result<Batch> next(std::uint64_t step);

    /// Ends a blocked next() and all decoding soon; callable from any thread.
    void cancel();
    /// Cancels. Whether all threads end within this time: one that reads from a dead network file
    /// system does not, and the destructor waits for it.
    [[nodiscard]] bool stop(double limit_s);

    [[nodiscard]] plan::LoaderMemory const& memory() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;

public:
    explicit Loader(std::unique_ptr<Impl> impl);  // for start()
};

}  // namespace osora::worker
