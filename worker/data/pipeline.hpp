// Private to worker/data: batches in a fixed number of slots, shared by the decoding threads (take,
// complete), the trainer's thread (wait_front) and batches in use.
#pragma once

#include "plan/buckets/schedule.hpp"
#include "worker/data/loader.hpp"
#include "worker/data/sample_fill.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace osora::worker {

/// One step's batch while it is made and while it is used.
struct BatchWork {
    std::uint64_t step = 0;
    plan::BucketKey key;
    std::size_t slot = 0;
    std::size_t sample_bytes = 0;
    std::vector<plan::SampleRef> refs;
    std::vector<std::optional<Result<FilledSample>>> filled;  // one entry per sample
    std::size_t taken = 0;                                    // samples handed to threads
    std::size_t completed = 0;                                // samples completed
};

struct PipelineOptions {
    std::size_t slots = 1;
    std::size_t slot_bytes = 0;
    int dp_rank = 0;
    int dp_size = 1;
    std::uint64_t start_step = 0;
    std::uint64_t stop_step = 0;  // exclusive
};

class Pipeline {
public:
    Pipeline(plan::Schedule const& schedule, PipelineOptions const& options);

    struct Task {
        BatchWork* batch = nullptr;
        std::size_t sample = 0;
        std::span<std::uint8_t> out;
    };
    /// The next sample in step order; waits for a free slot. nullopt: cancelled, or finished.
    [[nodiscard]] std::optional<Task> take();
    /// Like take(), but returns nullopt instead of waiting, and only for the due step.
    [[nodiscard]] std::optional<Task> try_take();
    void complete(Task const& task, Result<FilledSample> filled);

    /// The batch of the due step, once complete; calls `meanwhile` every `every` until then. busy:
    /// no slot is free or in progress.
    [[nodiscard]] Result<std::unique_ptr<BatchWork>> wait_front(
        std::chrono::duration<double> every, std::function<void()> const& meanwhile);
    void give_back(std::size_t slot);
    void cancel();
    /// In the trainer's thread. False: cancelled, and the pause ended then.
    [[nodiscard]] bool pause(double seconds);

    [[nodiscard]] std::atomic<bool> const& cancelled() const { return cancelled_; }
    [[nodiscard]] std::uint64_t due_step() const { return due_step_; }  // trainer's thread only
    [[nodiscard]] std::span<std::uint8_t const> pixels(BatchWork const& batch) const;
    /// For the samples of a batch that nobody else fills.
    [[nodiscard]] std::span<std::uint8_t> place_of(BatchWork const& batch, std::size_t sample);

private:
    [[nodiscard]] bool open_batch();                // with the lock held
    [[nodiscard]] std::optional<Task> find_task();  // with the lock held

    plan::Schedule const& schedule_;
    PipelineOptions const options_;
    std::vector<std::unique_ptr<std::uint8_t[]>> memory_;  // one block a slot
    std::atomic<bool> cancelled_ = false;
    std::uint64_t due_step_;

    std::mutex mutex_;
    std::condition_variable work_;   // a slot became free, or the end
    std::condition_variable ready_;  // a batch is complete, or the end
    std::vector<std::size_t> free_;
    std::deque<std::unique_ptr<BatchWork>> batches_;  // in step order
    std::uint64_t open_step_;                         // the next one to open
};

}  // namespace osora::worker
