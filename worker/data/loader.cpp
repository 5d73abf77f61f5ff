// The loader: decoding threads around a pipeline, and what is done about bad clips.
#include "worker/data/loader.hpp"

#include "worker/data/clip_pixels.hpp"
#include "worker/data/pipeline.hpp"
#include "worker/data/retry_files.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace osora::worker {
namespace {

/// A codec's buffers come and go with each clip, in sizes of their own, and the heap of a decoding
/// thread keeps the holes: 14 MiB more after 1,500 clips of mixed codecs, in one run of four.
/// Giving free pages back now and then costs 1 ms.
constexpr int kClipsBetweenTrims = 100;

std::int64_t batch_bytes_max(plan::Schedule const& schedule, int dp_size) {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < schedule.buckets().size(); ++i) {
        std::int64_t const share = schedule.global_batch_size(i) / dp_size;
        most = std::max(most, plan::batch_bytes(schedule.buckets()[i].key, share));
    }
    return most;
}

Result<void> check_options(plan::Schedule const& schedule, LoaderOptions const& options) {
    auto refuse = [](std::string const& why) {
        return Error{Errc::invalid_input, "loader: " + why};
    };
    if (options.num_workers < 0 || options.num_workers > 1024) {
        return refuse(fmt::format("num_workers {} is outside [0, 1024]", options.num_workers));
    }
    if (options.prefetch_factor < 1) {
        return refuse(fmt::format("prefetch_factor {} must be >= 1", options.prefetch_factor));
    }
    if (options.frame_stride < 1) {
        return refuse(fmt::format("frame_stride {} must be >= 1", options.frame_stride));
    }
    if (options.dp_size < 1 || options.dp_rank < 0 || options.dp_rank >= options.dp_size) {
        return refuse(
            fmt::format("dp_rank {} is not in [0, {})", options.dp_rank, options.dp_size));
    }
    for (std::size_t i = 0; i < schedule.buckets().size(); ++i) {
        std::int64_t const batch = schedule.global_batch_size(i);
        if (batch % options.dp_size == 0) continue;
        return Error{Errc::not_divisible,
                     fmt::format("loader: bucket {}: global batch {} is not a multiple of dp_size "
                                 "{}; nearest valid: {}",
                                 i, batch, options.dp_size,
                                 (batch / options.dp_size + 1) * options.dp_size)};
    }
    return {};
}

}  // namespace

std::string bad_clip_text(BadClip const& bad) {
    std::string const what = fmt::format("{}: {}", bad.path, bad.reason);
    bool const alone = bad.replacement.empty() || bad.replacement == bad.path;
    return alone ? what : fmt::format("{}; {} instead", what, bad.replacement);
}

struct Batch::State {
    State(std::shared_ptr<Pipeline> owner, std::unique_ptr<BatchWork> made)
        : pipeline(std::move(owner)), work(std::move(made)) {}
    State(State const&) = delete;
    State& operator=(State const&) = delete;
    ~State() { pipeline->give_back(work->slot); }

    std::shared_ptr<Pipeline> pipeline;  // owns the memory, also when the loader is gone
    std::unique_ptr<BatchWork> work;
    std::vector<LoadedSample> samples;
    std::vector<BadClip> bad;
    double data_wait_s = 0.0;
};

Batch::Batch(std::unique_ptr<State> state) : state_(std::move(state)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

std::uint64_t Batch::step() const {
    return state_->work->step;
}
std::size_t Batch::bucket() const {
    return state_->work->refs.front().bucket;
}
plan::BucketKey const& Batch::key() const {
    return state_->work->key;
}
std::span<std::uint8_t const> Batch::pixels() const {
    return state_->pipeline->pixels(*state_->work);
}
std::span<LoadedSample const> Batch::samples() const {
    return state_->samples;
}
std::span<BadClip const> Batch::bad_clips() const {
    return state_->bad;
}
double Batch::data_wait_s() const {
    return state_->data_wait_s;
}

class Loader::Impl {
public:
    Impl(plan::Schedule const& schedule, Manifest const& manifest, LoaderOptions const& options,
         plan::LoaderMemory const& memory)
        : schedule_(schedule), manifest_(manifest), options_(options), memory_(memory) {
        pipeline_ = std::make_shared<Pipeline>(
            schedule, PipelineOptions{.slots = static_cast<std::size_t>(memory.slots),
                                      .slot_bytes = static_cast<std::size_t>(memory.slot_bytes),
                                      .dp_rank = options.dp_rank,
                                      .dp_size = options.dp_size,
                                      .start_step = options.start_step,
                                      .stop_step = options.stop_step});
        limits_ = {.deadline_s = options.clip_deadline_s,
                   .pixels_max = decode_pixels_max(schedule, manifest),
                   .cancel = &pipeline_->cancelled()};
        if (options.num_workers == 0) {
            inline_decoder_.emplace(limits_);
            timers_.emplace_back();
        }
        for (int i = 0; i < options.num_workers; ++i) {
            ClipTimer& timer = timers_.emplace_back();
            threads_.emplace_back([this, &timer] {
                decode_until_end(timer);
                std::lock_guard const lock(ends_mutex_);
                ++threads_ended_;
                thread_ended_.notify_all();
            });
        }
        if (options.num_workers > 0) timers_.emplace_back();
    }
    Impl(Impl const&) = delete;
    Impl& operator=(Impl const&) = delete;
    ~Impl() {
        pipeline_->cancel();
        for (std::thread& thread : threads_) thread.join();
    }

    void cancel() { pipeline_->cancel(); }
    bool stop(double limit_s) {
        pipeline_->cancel();
        std::unique_lock lock(ends_mutex_);
        return thread_ended_.wait_for(lock, std::chrono::duration<double>(limit_s),
                                      [this] { return threads_ended_ == threads_.size(); });
    }
    [[nodiscard]] plan::LoaderMemory const& memory() const { return memory_; }

    Result<std::unique_ptr<Batch::State>> next(std::uint64_t step) {
        if (ended_) return *ended_;
        if (step != pipeline_->due_step() || step >= options_.stop_step) {
            return Error{
                Errc::invalid_input,
                fmt::format("loader: step {} was asked for, step {} of [{}, {}) is next", step,
                            pipeline_->due_step(), options_.start_step, options_.stop_step)};
        }
        auto const begin = std::chrono::steady_clock::now();
        if (inline_decoder_) decode_inline();
        auto batch = take_batch();
        if (batch.has_error()) {
            if (batch.error().code != Errc::busy) ended_ = batch.error();
            return batch;
        }
        (*batch)->data_wait_s =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return batch;
    }

private:
    void fill(Pipeline::Task const& task, ClipDecoder& decoder, ClipTimer& timer,
              std::function<void()> after_call = {}) {
        SampleSource source = source_of();
        source.timer = &timer;
        source.after_call = std::move(after_call);
        pipeline_->complete(task,
                            fill_sample(source, task.batch->refs[task.sample], decoder, task.out));
    }
    [[nodiscard]] SampleSource source_of() {
        return {.schedule = schedule_,
                .manifest = manifest_,
                .frame_stride = options_.frame_stride,
                .replace_bad = options_.replace_bad,
                .count_frames = options_.count_frames,
                .lengths = &lengths_};
    }

    void decode_until_end(ClipTimer& timer) {
        ClipDecoder decoder(limits_);
        for (int clips = 1; auto const task = pipeline_->take(); ++clips) {
            fill(*task, decoder, timer);
            if (clips % kClipsBetweenTrims == 0) ::malloc_trim(0);
        }
    }

    void decode_inline() {
        while (auto const task = pipeline_->try_take())
            fill(*task, *inline_decoder_, timers_.front(), [this] { name_slow_clips(); });
    }

    /// In the thread that waits: the agent takes a silent rank for one that hangs. If that decodes
    /// itself, after the clip.
    void name_slow_clips() {
        if (!options_.on_slow_clip) return;
        auto const now = ClipTimer::Time::clock::now();
        for (ClipTimer& timer : timers_) {
            auto const slow = timer.slow(now, options_.slow_clip_s);
            if (!slow) continue;
            std::string const& path = manifest_.clips[slow->clip].path;
            options_.on_slow_clip(
                inline_decoder_
                    ? fmt::format("{} took {:.0f} s: the file system, or FFmpeg, is slow", path,
                                  slow->seconds)
                    : fmt::format("{} has been in work for {:.0f} s: the file system, or FFmpeg, "
                                  "is slow or hangs; it is given up after {:.0f} s if it answers",
                                  path, slow->seconds, options_.clip_deadline_s));
        }
    }

    /// Waits for the due batch, and turns failed samples and too many bad clips into errors. In the
    /// order of samples, so that every run ends with the same message.
    Result<std::unique_ptr<Batch::State>> take_batch() {
        std::chrono::duration<double> const every(std::min(1.0, options_.slow_clip_s));
        OSORA_TRY(auto work, pipeline_->wait_front(every, [this] { name_slow_clips(); }));
        auto state = std::make_unique<Batch::State>(pipeline_, std::move(work));
        RetryBudget budget(options_.wait_for_files_s);
        for (std::size_t i = 0; i < state->work->filled.size(); ++i) {
            auto& filled = state->work->filled[i];
            if (is_away(*filled)) filled = wait_for_files(*state->work, i, budget);
            if (filled->has_error()) return filled->error();
            FilledSample& sample = **filled;
            state->samples.push_back(sample.sample);
            ++samples_seen_;
            OSORA_TRY_VOID(check_readable(sample));
            if (!std::ranges::all_of(sample.bad, &BadClip::listed_wrong)) ++bad_samples_seen_;
            for (BadClip& bad : sample.bad) {
                if (bad.listed_wrong && !reported_.insert(what_of(bad)).second) continue;
                state->bad.push_back(std::move(bad));
            }
        }
        double const share =
            static_cast<double>(bad_samples_seen_) / static_cast<double>(samples_seen_);
        bool const counts = options_.replace_bad && samples_seen_ >= options_.bad_grace_samples;
        if (counts && share > options_.bad_share_max) {
            return Error{Errc::corrupt,
                         fmt::format("loader: {} of {} samples had a clip that cannot be decoded, "
                                     "over the limit of {:.0f} % (data.bad_samples_max); the last: "
                                     "{}",
                                     bad_samples_seen_, samples_seen_, 100 * options_.bad_share_max,
                                     last_bad(*state))};
        }
        if (!state->bad.empty()) last_bad_ = describe(state->bad.back());
        return state;
    }

    static bool is_away(Result<FilledSample> const& filled) {
        return filled.has_error() && filled.error().code == Errc::unreachable;
    }

    /// A file system that is away for a moment must not end the run; the sample is the same as
    /// without that moment. In the thread that waits, as the agent takes a silent rank for one that
    /// hangs.
    Result<FilledSample> wait_for_files(BatchWork const& work, std::size_t sample,
                                        RetryBudget& budget) {
        Result<FilledSample> filled = work.filled[sample]->error();
        if (options_.wait_for_files_s <= 0)
            return Error{Errc::io, "loader: " + filled.error().message};
        ClipDecoder decoder(limits_);
        SampleSource source = source_of();
        source.timer = &timers_.back();
        source.after_call = [this] { name_slow_clips(); };
        auto const attempt = [&] {
            filled =
                fill_sample(source, work.refs[sample], decoder, pipeline_->place_of(work, sample));
            return !is_away(filled);
        };
        // The failure may be an old one: the first try comes at once.
        double const start_s = steady_now_s();
        if (attempt()) return filled;
        budget.spend(steady_now_s() - start_s);
        auto const say = [&](double pause_s) {
            if (!options_.on_slow_clip) return;
            options_.on_slow_clip(
                fmt::format("{}; tried again in {:.1f} s", filled.error().message, pause_s));
        };
        auto const pause = [this](double seconds) { return pipeline_->pause(seconds); };
        switch (retry_files(budget, {.attempt = attempt, .say = say, .pause = pause})) {
            case Retried::ended:
                return filled;
            case Retried::stopped:
                return Error{Errc::cancelled, "loader: cancelled"};
            case Retried::out_of_time:
                break;
        }
        return Error{Errc::io, "loader: " + filled.error().message};
    }

    /// A file system that is away takes all clips with it: without an error a caller that goes on
    /// without them would lose them, each with another reason.
    Result<void> check_readable(FilledSample const& sample) {
        bool const lost = sample.sample.missing && sample.bad.back().unreadable;
        unreadable_in_a_row_ = lost ? unreadable_in_a_row_ + 1 : 0;
        if (unreadable_in_a_row_ == 0 || unreadable_in_a_row_ < options_.bad_grace_samples)
            return {};
        return Error{Errc::io,
                     fmt::format("loader: {} clips in a row could not be read, as if the file "
                                 "system were away; the last: {}",
                                 unreadable_in_a_row_, describe(sample.bad.back()))};
    }

    [[nodiscard]] std::string last_bad(Batch::State const& state) const {
        return state.bad.empty() ? last_bad_ : describe(state.bad.back());
    }
    /// The same whatever is done about it.
    static std::string what_of(BadClip const& bad) {
        return bad.path + ": " + bad.reason.substr(0, bad.reason.find(';'));
    }
    static std::string describe(BadClip const& bad) {
        return fmt::format("{}: {}", bad.path, bad.reason);
    }

    plan::Schedule const& schedule_;
    Manifest const& manifest_;
    LoaderOptions const options_;
    plan::LoaderMemory const memory_;
    std::shared_ptr<Pipeline> pipeline_;
    DecodeLimits limits_;
    std::optional<ClipDecoder> inline_decoder_;
    std::optional<Error> ended_;
    std::int64_t samples_seen_ = 0;
    std::int64_t bad_samples_seen_ = 0;
    int unreadable_in_a_row_ = 0;
    std::string last_bad_;
    std::set<std::string> reported_;  // of clips whose list is wrong
    ClipLengths lengths_;
    std::deque<ClipTimer> timers_;  // of the threads; the last one of the thread that waits
    std::mutex ends_mutex_;
    std::condition_variable thread_ended_;
    std::size_t threads_ended_ = 0;
    std::vector<std::thread> threads_;
};

Result<plan::LoaderMemory> Loader::memory_for(plan::Schedule const& schedule,
                                              Manifest const& manifest,
                                              LoaderOptions const& options) {
    OSORA_TRY_VOID(check_options(schedule, options));
    plan::LoaderSizes const sizes{.slot_bytes = batch_bytes_max(schedule, options.dp_size),
                                  .clip_pixels_max = coded_pixels_max(schedule, manifest),
                                  .num_workers = options.num_workers,
                                  .prefetch_factor = options.prefetch_factor};
    return plan::check_loader_memory(sizes, options.host_memory_bytes);
}

Result<std::unique_ptr<Loader>> Loader::start(plan::Schedule const& schedule,
                                              Manifest const& manifest,
                                              LoaderOptions const& options) {
    OSORA_TRY(auto const memory, memory_for(schedule, manifest, options));
    return std::make_unique<Loader>(std::make_unique<Impl>(schedule, manifest, options, memory));
}

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loader::~Loader() = default;

Result<Batch> Loader::next(std::uint64_t step) {
    OSORA_TRY(auto state, impl_->next(step));
    return Batch(std::move(state));
}

void Loader::cancel() {
    impl_->cancel();
}
bool Loader::stop(double limit_s) {
    return impl_->stop(limit_s);
}
plan::LoaderMemory const& Loader::memory() const {
    return impl_->memory();
}

}  // namespace osora::worker
