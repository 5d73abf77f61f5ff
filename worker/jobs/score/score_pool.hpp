// The threads of a rank that scores: each takes the next block of clips, scores those without a
// row, and puts the rows into the rank's file.
#pragma once

#include "base/result.hpp"
#include "worker/jobs/score/score_shards.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace osora::worker {

/// Clips that a thread takes at one time: less than 2 % of a thread's share of the list, at
/// most 32.
[[nodiscard]] std::size_t score_block(std::size_t clips, int threads_of_all_ranks);

class ScorePool {
public:
    struct Work {
        std::vector<ListedClip> const& clips;
        AskedScores const& asked;
        ShardIndex const& had;  // rows of earlier attempts
        std::size_t block = 1;  // clips
        /// Number of the next block: every block once, over all ranks. From any thread.
        std::function<Result<std::int64_t>()> next;
        std::vector<ScoreTools> tools;  // of each thread
    };
    struct Fault {
        int line = 0;  // of the list
        std::string path, reason;
    };
    struct Done {
        std::int64_t clips = 0;
        std::vector<Fault> faults;
    };

    /// As many threads as tools.
    [[nodiscard]] static std::unique_ptr<ScorePool> start(Work work, ShardWriter writer);
    ScorePool(Work work, ShardWriter writer)  // for start()
        : work_(std::move(work)), writer_(std::move(writer)) {}
    ~ScorePool();  // ends clips in progress
    ScorePool(ScorePool const&) = delete;
    ScorePool& operator=(ScorePool const&) = delete;

    /// Clips whose rows are on the disk since the last call.
    [[nodiscard]] Done take();
    /// All threads have ended: nothing is left, stop() was called, or there is an error.
    [[nodiscard]] bool ended() const { return running_ == 0; }
    [[nodiscard]] Result<void> result() const;
    /// Each thread keeps its rows and ends; a clip in progress has none.
    void stop() { stopped_ = true; }
    /// A clip that is read for longer than its deadline and `grace`: a file system that hangs.
    [[nodiscard]] bool overdue(std::chrono::seconds grace) const;

private:
    using Clock = std::chrono::steady_clock;
    struct Thread {
        ScoreTools tools;
        std::atomic<Clock::rep> since = 0;  // of the clip in progress; 0: none
        std::thread thread;
    };
    void run(Thread& self);
    [[nodiscard]] Result<bool> score_block_of(Thread& self);
    [[nodiscard]] Result<void> keep(std::vector<std::pair<std::size_t, ScoredClip>>& made);

    Work work_;
    std::atomic<bool> stopped_ = false;
    std::atomic<int> running_ = 0;
    mutable std::mutex mutex_;
    ShardWriter writer_;
    Done done_;
    std::optional<Error> error_;
    std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace osora::worker
