// The list of clips to train on, from a CSV or JSON lines with Open-Sora's columns. A row that
// cannot be used is skipped and reported; only a manifest without any usable row is an error.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/clip_columns.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// One usable clip.
struct Clip {
    std::string path;    // absolute
    std::string text;    // caption, may be empty
    int num_frames = 0;  // 1: an image
    int height = 0;      // pixels, as a player shows it
    int width = 0;
    double fps = 0.0;     // 0: unknown, or an image
    int line = 0;         // of the manifest, 1-based
    bool probed = false;  // some of its numbers were read from its file
    bool gone = false;    // its file is not there; only with ManifestOptions::keep_gone
};

struct SkippedRow {
    int line = 0;  // 1-based; where the row starts
    std::string path;
    std::string reason;
};

/// A row as it stands; its file has not been looked at.
struct ListedClip {
    Clip clip;          // 0 where the row does not say
    std::string name;   // the path as it is written
    std::string fault;  // why the row says nothing that can be used; empty: it does
};

struct Manifest {
    std::vector<Clip> clips;
    std::vector<SkippedRow> skipped;
    std::vector<SkippedRow> resized;  // with check_sizes: in `clips`, with the size of their files
    std::uint64_t fingerprint = 0;    // of paths and sizes of `clips` in their order
};

struct ManifestOptions {
    double probe_deadline_s = 10.0;  // per file
    plan::ColumnNames columns = {};  // [data] columns
    /// Rows that say all of a clip whose file is not there stay in `clips`, so that the numbers and
    /// buckets of the others do not depend on it; they are told in `skipped` all the same.
    bool keep_gone = false;
    /// 64 of the listed sizes, evenly spread, are compared with their files, and all of them where
    /// one is wrong. Files are right: what is read depends on the list and its files alone.
    bool check_sizes = false;
    /// What remember_clips() wrote, for rows of such clips that do not say all; need not be there.
    std::filesystem::path remembered = {};
};

/// Columns path,text,num_frames,height,width,aspect_ratio,resolution,fps in any order, `path`
/// required, others ignored; comma, semicolon, tab or | between them; quoted fields may hold
/// separators, quotes and line ends; a BOM and CRLF are fine. A broken quote costs its line alone.
/// JSON lines ({"path": "a.mp4", "text": "..."}, one object a line) have keys in place of columns.
/// Relative paths start at the manifest's folder. Numbers that a row lacks are read from the file
/// itself. Errors: not_found, io (the manifest cannot be read), invalid_input (no path column, no
/// rows, no usable row, neither of the two: with the line that converts it).
[[nodiscard]] Result<Manifest> read_manifest(std::filesystem::path const& path,
                                             ManifestOptions const& options = {});

/// The same from text; `folder` is where relative paths start.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view csv,
                                              std::filesystem::path const& folder,
                                              ManifestOptions const& options = {});

/// Adds to `file` the numbers that were read from clips, so that a later read of the list knows
/// them when a clip is gone. Nothing to add: it is left alone. Errors: io.
[[nodiscard]] Result<void> remember_clips(Manifest const& manifest,
                                          std::filesystem::path const& file);

/// All rows in order, usable or not. Errors: not_found, io, invalid_input (no path column, no
/// rows).
[[nodiscard]] Result<std::vector<ListedClip>> list_clips(std::filesystem::path const& path,
                                                         plan::ColumnNames const& columns = {});

}  // namespace osora::worker
