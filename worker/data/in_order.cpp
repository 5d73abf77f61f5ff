#include "worker/data/in_order.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace osora::worker {
namespace {

class InOrder {
public:
    InOrder(std::size_t count, int workers, InOrderWork const& work)
        : count_(count), work_(work), made_(in_order_slots(workers), false) {
        for (int i = 0; i < workers; ++i) {
            threads_.emplace_back([this, i] { run(static_cast<std::size_t>(i)); });
        }
    }
    InOrder(InOrder const&) = delete;
    InOrder& operator=(InOrder const&) = delete;
    ~InOrder() {
        {
            std::lock_guard const lock(mutex_);
            count_ = 0;
        }
        room_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    void take_all() {
        for (std::size_t index = 0;; ++index) {
            std::size_t const slot = index % made_.size();
            {
                std::unique_lock lock(mutex_);
                if (index >= count_) return;
                whole_.wait(lock, [&] { return made_[slot]; });
                if (thrown_ && index == thrown_at_) std::rethrow_exception(thrown_);
                made_[slot] = false;
            }
            if (!work_.take({.index = index, .slot = slot})) return;
            {
                std::lock_guard const lock(mutex_);
                taken_ = index + 1;
            }
            room_.notify_all();
        }
    }

private:
    void run(std::size_t worker) {
        for (;;) {
            InOrderPiece piece{.worker = worker};
            {
                std::unique_lock lock(mutex_);
                room_.wait(lock,
                           [this] { return next_ >= count_ || next_ < taken_ + made_.size(); });
                if (next_ >= count_) return;
                piece.index = next_++;
            }
            piece.slot = piece.index % made_.size();
            std::exception_ptr thrown;
            try {
                work_.make(piece);
            } catch (std::exception const&) {
                thrown = std::current_exception();
            }
            {
                std::lock_guard const lock(mutex_);
                if (thrown && (!thrown_ || piece.index < thrown_at_)) {
                    thrown_ = thrown;
                    thrown_at_ = piece.index;
                }
                made_[piece.slot] = true;
            }
            whole_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable room_, whole_;
    std::size_t count_, next_ = 0, taken_ = 0;
    InOrderWork const& work_;
    std::exception_ptr thrown_;  // by the first item for which make() did
    std::size_t thrown_at_ = 0;
    std::vector<bool> made_;  // per slot
    std::vector<std::thread> threads_;
};

}  // namespace

std::size_t in_order_slots(int workers) {
    return workers == 0 ? 1 : static_cast<std::size_t>(workers) + 1;
}

void run_in_order(std::size_t count, int workers, InOrderWork const& work) {
    if (workers > 0) {
        InOrder(count,
                static_cast<int>(std::min<std::size_t>(count, static_cast<std::size_t>(workers))),
                work)
            .take_all();
        return;
    }
    for (std::size_t index = 0; index < count; ++index) {
        work.make({.index = index});
        if (!work.take({.index = index})) return;
    }
}

}  // namespace osora::worker
