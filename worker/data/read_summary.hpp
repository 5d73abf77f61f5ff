// What a rank read, as a few numbers that ranks compare before the first step: ranks that see other
// clips (a stale copy, a file system that is not mounted) would train on other samples. Pure.
#pragma once

#include "worker/data/manifest.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace osora::worker {

struct ReadSummary {
    std::int64_t hash = 0;   // of all that decides samples: paths, captions, numbers, what is gone
    std::int64_t clips = 0;  // usable, with those that are gone
    std::int64_t gone = 0;
    friend bool operator==(ReadSummary const&, ReadSummary const&) = default;
};

/// `settings`: a hash of what was read beside the manifest (caches, buckets).
[[nodiscard]] ReadSummary summary_of(Manifest const& manifest, std::uint64_t settings);

/// Names the ranks that differ from what most ranks read (of a tie, from rank 0), ten at most; "":
/// none does.
[[nodiscard]] std::string ranks_that_differ(std::span<ReadSummary const> of_ranks);

}  // namespace osora::worker
