// The most recently used shards, mapped; a bounded number, so that a folder of 100,000 shards does
// not exhaust the process's maps. One thread. Private to worker/cache.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <deque>
#include <utility>

namespace osora::worker {

template <class Rows>
class OpenShards {
public:
    /// The rows of shard `number`, opened by `open()` if necessary; valid until the next call.
    template <class Open>
    [[nodiscard]] Result<Rows const*> get(std::size_t number, Open const& open) {
        for (auto const& [known, rows] : open_)
            if (known == number) return &rows;
        OSORA_TRY(auto rows, open());
        if (open_.size() >= kOpenMax) open_.pop_front();
        open_.emplace_back(number, std::move(rows));
        return &open_.back().second;
    }

private:
    static constexpr std::size_t kOpenMax = 256;
    std::deque<std::pair<std::size_t, Rows>> open_;  // oldest first
};

}  // namespace osora::worker
