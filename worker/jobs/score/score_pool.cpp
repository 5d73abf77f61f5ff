#include "worker/jobs/score/score_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace osora::worker {
namespace {

/// An exception would end the process from the thread, and name no clip.
Result<ScoredClip> score_without_throwing(ListedClip const& listed, AskedScores const& asked,
                                          ScoreTools const& tools) {
    try {
        return score_clip(listed, asked, tools);
    } catch (std::exception const& error) {
        return Error{Errc::io, fmt::format("score: {}: {}", listed.name, error.what())};
    }
}

}  // namespace

std::size_t score_block(std::size_t clips, int threads_of_all_ranks) {
    constexpr std::size_t kBlocksAThread = 64, kBlockMax = 32;
    auto const threads = static_cast<std::size_t>(std::max(1, threads_of_all_ranks));
    return std::clamp<std::size_t>(clips / (threads * kBlocksAThread), 1, kBlockMax);
}

std::unique_ptr<ScorePool> ScorePool::start(Work work, ShardWriter writer) {
    auto pool = std::make_unique<ScorePool>(std::move(work), std::move(writer));
    for (auto& tools : pool->work_.tools) {
        auto self = std::make_unique<Thread>();
        self->tools = std::move(tools);
        self->tools.cancel = &pool->stopped_;
        pool->threads_.push_back(std::move(self));
    }
    pool->running_ = static_cast<int>(pool->threads_.size());
    for (auto& each : pool->threads_) {
        Thread& self = *each;
        self.thread = std::thread([&self, owner = pool.get()] { owner->run(self); });
    }
    return pool;
}

ScorePool::~ScorePool() {
    stop();
    for (auto& each : threads_) {
        if (each->thread.joinable()) each->thread.join();
    }
}

void ScorePool::run(Thread& self) {
    for (bool more = true; more && !stopped_;) {
        auto const scored = score_block_of(self);
        more = scored.has_value() && *scored;
        if (scored.has_value()) continue;
        std::lock_guard const lock(mutex_);
        if (!error_) error_ = scored.error();
        stopped_ = true;
    }
    --running_;
}

/// false: no block is left.
Result<bool> ScorePool::score_block_of(Thread& self) {
    OSORA_TRY(std::int64_t const number, work_.next());
    std::size_t const blocks = (work_.clips.size() + work_.block - 1) / work_.block;
    if (number < 0 || static_cast<std::size_t>(number) >= blocks) return false;
    std::size_t const first = static_cast<std::size_t>(number) * work_.block;
    std::size_t const last = std::min(work_.clips.size(), first + work_.block);
    std::vector<std::pair<std::size_t, ScoredClip>> made;
    for (std::size_t i = first; i < last && !stopped_; ++i) {
        if (work_.had.has(i)) continue;
        self.since = Clock::now().time_since_epoch().count();
        auto scored = score_without_throwing(work_.clips[i], work_.asked, self.tools);
        self.since = 0;
        if (scored.has_error()) {
            OSORA_TRY_VOID(keep(made));
            return scored.error();
        }
        // One that was ended by stop() may be good.
        if (scored->fault && stopped_) break;
        made.emplace_back(i, std::move(*scored));
    }
    OSORA_TRY_VOID(keep(made));
    return true;
}

Result<void> ScorePool::keep(std::vector<std::pair<std::size_t, ScoredClip>>& made) {
    if (made.empty()) return {};
    std::lock_guard const lock(mutex_);
    for (auto const& [index, scored] : made) writer_.add(index, scored.row);
    OSORA_TRY_VOID(writer_.sync());
    done_.clips += static_cast<std::int64_t>(made.size());
    for (auto& [index, scored] : made) {
        if (!scored.fault) continue;
        auto const& listed = work_.clips[index];
        done_.faults.push_back({listed.clip.line, listed.name, std::move(scored.row.error)});
    }
    return {};
}

ScorePool::Done ScorePool::take() {
    std::lock_guard const lock(mutex_);
    return std::exchange(done_, {});
}

Result<void> ScorePool::result() const {
    std::lock_guard const lock(mutex_);
    if (error_) return *error_;
    return {};
}

bool ScorePool::overdue(std::chrono::seconds grace) const {
    auto const limit = std::chrono::duration<double>(work_.asked.deadline_s) + grace;
    auto const now = Clock::now();
    return std::ranges::any_of(threads_, [&](auto const& each) {
        Clock::rep const since = each->since;
        return since != 0 && now - Clock::time_point(Clock::duration(since)) > limit;
    });
}

}  // namespace osora::worker
