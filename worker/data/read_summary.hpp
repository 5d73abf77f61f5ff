// What a rank read, as a few numbers that ranks compare before the first step: ranks that see other
// clips (a stale copy, a file system that is not mounted) would train on other samples. Pure.
#pragma once

#include "worker/data/manifest.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace osora::worker {

struct ReadSummary {
    std::int64_t hash = 0;   // of all that determines samples: paths, captions, figures, missing
                             // files
    std::int64_t clips = 0;  // usable, including missing ones
    std::int64_t gone = 0;
    friend bool operator==(ReadSummary const&, ReadSummary const&) = default;
};

/// `settings`: a hash of other inputs besides the manifest (caches, buckets).
[[nodiscard]] ReadSummary summary_of(Manifest const& manifest, std::uint64_t settings);

/// Names the ranks that differ from what most ranks read (in a tie, from rank 0), at most ten; "":
/// none differs.
[[nodiscard]] std::string ranks_that_differ(std::span<ReadSummary const> of_ranks);

}  // namespace osora::worker
