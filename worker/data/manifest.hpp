// The list of training clips, from a CSV or JSON lines with Open-Sora's columns. An unusable row is
// skipped and reported; only a manifest without any usable row is an error.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "worker/data/crashed_clips.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
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
    double fps = 0.0;      // 0: unknown, or an image
    int line = 0;          // of the manifest, 1-based
    bool probed = false;   // some of its numbers were read from its file
    bool gone = false;     // its file is missing; only with ManifestOptions::keep_gone
    bool crashed = false;  // of ManifestOptions::crashed: it must not be decoded
};

struct SkippedRow {
    int line = 0;  // 1-based; where the row starts
    std::string path;
    std::string reason;
};

/// A row as read; its file was not opened.
struct ListedClip {
    Clip clip;          // 0 if the row does not say
    std::string name;   // the path as written
    std::string fault;  // why the row is unusable; empty: it is usable
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
    /// Rows with all figures of a clip whose file is missing, or cannot be read for now, stay in
    /// `clips`, so that the numbers and buckets of the others do not depend on it; missing ones are
    /// also reported in `skipped`.
    bool keep_gone = false;
    /// Compares 64 of the listed sizes, evenly spread, with their files, and all of them if one is
    /// wrong. Files win: the result depends only on the list and its files.
    bool check_sizes = false;
    /// Written by remember_clips(), for rows of such clips without all figures; optional.
    std::filesystem::path remembered = {};
    /// Stay in `clips` as well, and are also reported in `skipped`.
    CrashedClips crashed = {};
    int workers = 0;  // threads that open files; 0: that of the caller
    /// Called after each row and each look at a file: opening a million files takes longer than a
    /// rank may be silent.
    std::function<void()> sign = {};
};

/// Columns path,text,num_frames,height,width,aspect_ratio,resolution,fps in any order, `path`
/// required, others ignored; comma, semicolon, tab or | between them; quoted fields may hold
/// separators, quotes and line ends; a BOM and CRLF are fine. A broken quote costs only its line.
/// JSON lines ({"path": "a.mp4", "text": "..."}, one object per line) have keys instead of columns.
/// Relative paths start at the manifest's folder. Figures that a row lacks are read from the file
/// itself. Errors: not_found, io (the manifest cannot be read), invalid_input (no path column, no
/// rows, no usable row, neither format: with the command that converts it).
[[nodiscard]] Result<Manifest> read_manifest(std::filesystem::path const& path,
                                             ManifestOptions const& options = {});

/// The same from text; `folder` is the base of relative paths.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view csv,
                                              std::filesystem::path const& folder,
                                              ManifestOptions const& options = {});

/// Adds to `file` the figures that were read from clips, so that a later read of the list has them
/// when a clip is gone. Does nothing if there is nothing to add. Errors: io.
[[nodiscard]] Result<void> remember_clips(Manifest const& manifest,
                                          std::filesystem::path const& file);

/// All rows in order, usable or not. Errors: not_found, io, invalid_input (no path column, no
/// rows).
[[nodiscard]] Result<std::vector<ListedClip>> list_clips(std::filesystem::path const& path,
                                                         plan::ColumnNames const& columns = {});

}  // namespace osora::worker
