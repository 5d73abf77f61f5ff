// Private to worker/clips: the list, buckets and schedule of a run, as its trainer makes them, and
// where a clip of the list comes in them.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/schedule.hpp"
#include "protocol/clip_look.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/data/manifest.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace osora::worker {

/// A clip to be drawn.
struct LookPlace {
    ListedClip const* listed = nullptr;
    std::optional<std::uint32_t> clip = {};   // in the manifest
    std::optional<plan::SampleRef> ref = {};  // the first sample that training takes of it
    std::optional<ClipFault> fault = {};      // why it has none
    bool damaged = false;                     // by that fault
    plan::BucketKey key = {};                 // of its bucket; 0: it is in none
    std::size_t entry = 0;
    double share = 0;
};

class LookSource {
public:
    /// Errors: as list_clips() and read_manifest(); invalid_input for buckets that cannot be.
    [[nodiscard]] static Result<LookSource> open(protocol::ClipLookRequest const& request);

    [[nodiscard]] std::vector<ListedClip> const& listed() const { return listed_; }
    [[nodiscard]] Manifest const& manifest() const { return manifest_; }

    /// As large as the loader of the run allows.
    [[nodiscard]] std::int64_t pixels_max() const;
    /// Whether a row trains in the entry.
    [[nodiscard]] bool is_in(ListedClip const& listed, int entry) const;
    /// `entry`: -1 for the bucket with the largest share.
    [[nodiscard]] LookPlace place(ListedClip const& listed, int entry, double deadline_s) const;

private:
    LookSource() = default;
    [[nodiscard]] std::optional<std::pair<std::size_t, double>> bucket_of(std::uint32_t clip,
                                                                          int entry) const;
    [[nodiscard]] std::optional<plan::SampleRef> first_sample(std::size_t bucket,
                                                              std::uint32_t clip) const;
    [[nodiscard]] ClipFault unreadable(ListedClip const& listed, double deadline_s) const;

    std::vector<ListedClip> listed_;
    Manifest manifest_;
    std::unordered_map<int, std::uint32_t> by_line_;  // index in manifest_.clips
    std::optional<plan::BucketTable> table_;
    std::optional<plan::StepSchedule> schedule_;  // none: no clip is in a bucket
};

}  // namespace osora::worker
