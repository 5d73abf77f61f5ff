// Assigns clips to training buckets. Pure. A clip tries the entries from the largest area and the
// most frames down; keep_prob < 1 lets a share of the clips fall through to smaller entries.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/shapes.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace osora::plan {

/// Of an entry's area: a clip needs as many pixels (Open-Sora's `approx`).
inline constexpr double kAreaShareMin = 0.8;

/// The properties of a clip that decide its bucket.
struct ClipShape {
    int num_frames = 0;  // 1: an image
    int height = 0;      // pixels
    int width = 0;
};

/// `osora`: a clip needs as many frames as the window covers, and a clip that an entry does not
/// keep tries the next entry. `original`: as github.com/hpcaitech/Open-Sora v1.2
/// opensora/datasets/bucket.py, which requires more than num_frames * frame_stride frames, sends
/// what keep_prob rejects to the next smaller area, and has separate shapes (original_shapes.hpp).
enum class AssignRule { osora, original };

struct AssignOptions {
    int frame_stride = 1;             // source frames per sampled frame
    int multiple = 1;                 // heights and widths are multiples of it (VAE x patch)
    bool images_from_videos = false;  // entries of one frame accept videos too
    AssignRule rule = AssignRule::osora;
};

/// The k-th uniform number in [0, 1) for (clip, entry); entry: index of the table. Calls come with
/// k = 0, 1, ... for one entry, then for the next.
using Draw = std::function<double(std::size_t entry, int k)>;

/// Open-Sora's draws for a clip: numpy.random.default_rng(seed + entry).
[[nodiscard]] Draw original_draws(std::uint64_t seed);

/// The entries of a run file, checked and in the order in which a clip tries them.
class BucketTable {
public:
    /// Rejects an empty list, unknown resolutions, probabilities outside (0, 1], the same
    /// resolution and num_frames twice; the message has all errors.
    [[nodiscard]] static Result<BucketTable> make(std::vector<BucketEntry> entries,
                                                  AssignOptions options = {});

    struct Row {
        BucketEntry entry;
        std::size_t source = 0;           // index of the entry in the run file
        std::int64_t area = 0;            // pixels
        std::vector<AspectShape> shapes;  // of this area
        std::vector<double> ratios;       // original rule: names of the shapes; else empty
    };
    /// Areas descending, then num_frames descending.
    [[nodiscard]] std::span<Row const> rows() const { return rows_; }
    [[nodiscard]] AssignOptions const& options() const { return options_; }
    /// Shapes of all rows.
    [[nodiscard]] std::size_t shape_count() const;

    /// Whether the clip is large and long enough for a row (area >= kAreaShareMin x the row's).
    [[nodiscard]] bool fits(ClipShape const& clip, std::size_t row) const;
    /// Draws the row that the clip trains in; nullopt: none.
    [[nodiscard]] std::optional<std::size_t> draw_row(ClipShape const& clip,
                                                      Draw const& draw) const;
    /// Index of the row's shape that is nearest to the clip's.
    [[nodiscard]] std::size_t nearest(ClipShape const& clip, std::size_t row) const;
    /// The probability of each row under draw_row(); sums to <= 1.
    [[nodiscard]] std::vector<double> row_shares(ClipShape const& clip) const;

private:
    std::vector<Row> rows_;
    AssignOptions options_;
};

/// A bucket that has clips: one shape of one entry.
struct Bucket {
    std::size_t entry = 0;  // index in the run file
    BucketKey key;
    std::vector<std::uint32_t> clips;  // indices into the clips given to fill_buckets, ascending
    std::vector<float> shares;         // share of each clip's training in this bucket, (0, 1]
    double weight = 0.0;               // sum of shares: clips per pass over the data
};

struct BucketSet {
    std::vector<Bucket> buckets;  // in the order of the run file; within an entry the fullest shape
                                  // first
    std::vector<std::uint32_t> unused_clips;  // clips that fit no entry
    std::vector<std::size_t> empty_entries;   // entries of the run file that no clip fits
};

[[nodiscard]] BucketSet fill_buckets(BucketTable const& table, std::span<ClipShape const> clips);

}  // namespace osora::plan
