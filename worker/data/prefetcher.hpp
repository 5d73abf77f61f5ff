// Items of steps, made in order by a separate thread, a bounded number ahead of the consumer. The
// maker defines their content. Owner and consumer are one thread.
#pragma once

#include "base/check.hpp"
#include "base/result.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace osora::worker {

template <class Item>
class Prefetcher {
public:
    using Make = std::function<Result<Item>(std::uint64_t step)>;

    struct Steps {
        std::uint64_t start = 0, stop = 0;  // [start, stop)
        std::size_t ahead = 1;              // items ready or in progress
    };
    /// `make` is called only from the thread.
    Prefetcher(Make make, Steps steps)
        : make_(std::move(make)),
          steps_(steps),
          due_(steps.start),
          thread_([this] { run_to_end(); }) {}
    Prefetcher(Prefetcher const&) = delete;
    Prefetcher& operator=(Prefetcher const&) = delete;
    ~Prefetcher() {
        static_cast<void>(stop(0));
        thread_.join();
    }

    /// Makes no further item; next() must not be called again. Whether the thread ends within this
    /// time.
    [[nodiscard]] bool stop(double limit_s) {
        std::unique_lock lock(mutex_);
        ended_ = true;
        changed_.notify_all();
        return changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                                 [this] { return thread_ended_; });
    }

    /// Waits for the item of `step`; steps must be consecutive. An error is the last item.
    [[nodiscard]] Result<Item> next(std::uint64_t step) {
        OSORA_CHECK_EQ(step, due_);
        OSORA_CHECK_LT(step, steps_.stop);
        ++due_;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !ready_.empty(); });
        Result<Item> item = std::move(ready_.front());
        ready_.pop_front();
        lock.unlock();
        changed_.notify_all();
        return item;
    }

private:
    void run_to_end() {
        run();
        std::lock_guard const lock(mutex_);
        thread_ended_ = true;
        changed_.notify_all();
    }

    void run() {
        for (std::uint64_t step = steps_.start; step < steps_.stop; ++step) {
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return ended_ || ready_.size() < steps_.ahead; });
                if (ended_) return;
            }
            Result<Item> item = make_(step);
            bool const failed = item.has_error();
            {
                std::lock_guard const lock(mutex_);
                ready_.push_back(std::move(item));
            }
            changed_.notify_all();
            if (failed) return;
        }
    }

    Make make_;
    Steps steps_;
    std::uint64_t due_;  // the consumer's
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Result<Item>> ready_;
    bool ended_ = false;
    bool thread_ended_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace osora::worker
