// Rows that the ranks of a score run have made, in RUN_DIR/score/: one file of each rank and
// attempt, so that nobody appends to a file that another process may still write. A record is a
// header "INDEX BYTES SUM", the row's line of the CSV, and a line end; what a kill or a crash of
// the machine cut is left out and scored again. Of two rows of one clip either counts.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"
#include "worker/clips/clip_scorer.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// What rows depend on.
struct ScoreKey {
    std::string list;    // hash of the rows of the list, in order, and of what is asked for
    std::string models;  // "aesthetic=0123456789abcdef flow=..."; empty: none
};
[[nodiscard]] ScoreKey score_key(std::vector<ListedClip> const& clips, AskedScores const& asked);

class ShardWriter {
public:
    /// Appends to `folder`/ATTEMPT-RANK.rows. Errors: io, out_of_space.
    [[nodiscard]] static Result<ShardWriter> open(std::filesystem::path const& folder,
                                                  ScoreKey const& key, int attempt, int rank);
    void add(std::size_t index, ScoreRow const& row);
    /// Writes what was added, and returns when it is on the disk.
    [[nodiscard]] Result<void> sync();

private:
    ShardWriter(std::filesystem::path path, Descriptor file)
        : path_(std::move(path)), file_(std::move(file)) {}
    std::filesystem::path path_;
    Descriptor file_;
    std::string waiting_;
};

/// Where the row of each clip of the list is.
struct ShardIndex {
    struct Place {
        std::int32_t file = -1;  // of `files`; -1: there is no row
        std::int32_t bytes = 0;
        std::int64_t at = 0;
    };
    std::vector<std::filesystem::path> files;
    std::vector<Place> places;  // by the clip's index in the list
    std::int64_t rows = 0;      // clips that have one

    [[nodiscard]] bool has(std::size_t index) const { return places[index].file >= 0; }
};
/// Rows of `key` in `folder`, which need not exist. Files of another list are left alone.
/// invalid_input: rows of this list by other models; io.
[[nodiscard]] Result<ShardIndex> read_shards(std::filesystem::path const& folder,
                                             ScoreKey const& key, std::size_t clips);

/// Writes the CSV in the order of the list, atomically. corrupt: a clip has no row; io,
/// out_of_space.
[[nodiscard]] Result<void> merge_shards(ShardIndex const& index, std::string_view header,
                                        std::filesystem::path const& output);

}  // namespace osora::worker
