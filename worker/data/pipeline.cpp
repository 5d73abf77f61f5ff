// The loader's bounded queue of batches.
#include "worker/data/pipeline.hpp"

#include "base/check.hpp"

namespace osora::worker {

Pipeline::Pipeline(plan::Schedule const& schedule, PipelineOptions const& options)
    : schedule_(schedule),
      options_(options),
      due_step_(options.start_step),
      open_step_(options.start_step) {
    for (std::size_t slot = options.slots; slot-- > 0;) {
        memory_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(options.slot_bytes));
        free_.push_back(slot);
    }
}

bool Pipeline::open_batch() {
    if (free_.empty() || open_step_ >= options_.stop_step) return false;
    auto batch = std::make_unique<BatchWork>();
    batch->step = open_step_++;
    batch->refs = schedule_.rank_samples(batch->step, options_.dp_rank, options_.dp_size);
    batch->key = schedule_.buckets()[batch->refs.front().bucket].key;
    batch->sample_bytes = static_cast<std::size_t>(plan::batch_bytes(batch->key, 1));
    OSORA_CHECK_LE(batch->sample_bytes * batch->refs.size(), options_.slot_bytes);
    batch->filled.resize(batch->refs.size());
    batch->slot = free_.back();
    free_.pop_back();
    batches_.push_back(std::move(batch));
    return true;
}

std::optional<Pipeline::Task> Pipeline::find_task() {
    for (;;) {
        for (auto const& batch : batches_) {
            if (batch->taken == batch->refs.size()) continue;
            std::size_t const sample = batch->taken++;
            return Task{.batch = batch.get(), .sample = sample, .out = place_of(*batch, sample)};
        }
        if (!open_batch()) return std::nullopt;
    }
}

std::optional<Pipeline::Task> Pipeline::take() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (cancelled_) return std::nullopt;
        if (auto task = find_task()) return task;
        if (open_step_ >= options_.stop_step) return std::nullopt;
        work_.wait(lock);
    }
}

std::optional<Pipeline::Task> Pipeline::try_take() {
    std::lock_guard const lock(mutex_);
    if (cancelled_) return std::nullopt;
    bool const due_is_open = !batches_.empty();
    if (due_is_open && batches_.front()->taken == batches_.front()->refs.size()) {
        return std::nullopt;
    }
    return find_task();
}

void Pipeline::complete(Task const& task, Result<FilledSample> filled) {
    std::lock_guard const lock(mutex_);
    task.batch->filled[task.sample] = std::move(filled);
    if (++task.batch->completed == task.batch->refs.size()) ready_.notify_all();
}

Result<std::unique_ptr<BatchWork>> Pipeline::wait_front(std::chrono::duration<double> every,
                                                        std::function<void()> const& meanwhile) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (cancelled_) return Error{Errc::cancelled, "loader: cancelled"};
        if (batches_.empty() && free_.empty()) {
            return Error{Errc::busy, "loader: all batches are in use; release one before the next"};
        }
        if (!batches_.empty() && batches_.front()->completed == batches_.front()->refs.size()) {
            auto batch = std::move(batches_.front());
            batches_.pop_front();
            ++due_step_;
            return batch;
        }
        if (ready_.wait_for(lock, every) == std::cv_status::no_timeout) continue;
        lock.unlock();
        meanwhile();
        lock.lock();
    }
}

void Pipeline::give_back(std::size_t slot) {
    {
        std::lock_guard const lock(mutex_);
        free_.push_back(slot);
    }
    work_.notify_all();
}

void Pipeline::cancel() {
    {
        std::lock_guard const lock(mutex_);
        cancelled_ = true;
    }
    work_.notify_all();
    ready_.notify_all();
}

bool Pipeline::pause(double seconds) {
    std::unique_lock lock(mutex_);
    return !ready_.wait_for(lock, std::chrono::duration<double>(seconds),
                            [this] { return cancelled_.load(); });
}

std::span<std::uint8_t> Pipeline::place_of(BatchWork const& batch, std::size_t sample) {
    return {memory_[batch.slot].get() + sample * batch.sample_bytes, batch.sample_bytes};
}

std::span<std::uint8_t const> Pipeline::pixels(BatchWork const& batch) const {
    return {memory_[batch.slot].get(), batch.sample_bytes * batch.refs.size()};
}

}  // namespace osora::worker
