// Clips that ended a rank of the run in FFmpeg, from the notes of its handler of crashes
// (worker/data/clip_in_hand.hpp). Later attempts leave them out as clips that cannot be decoded, in
// their places of the list, so the samples of all other clips stay the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace osora::worker {

/// Hashes of paths, ascending: small enough for ranks to exchange.
struct CrashedClips {
    std::vector<std::int64_t> in_headers;  // not to be opened at all
    std::vector<std::int64_t> in_frames;   // not to be decoded

    [[nodiscard]] bool headers_crash(std::string_view path) const;
    /// Whether the clip must not be decoded.
    [[nodiscard]] bool contains(std::string_view path) const;
    [[nodiscard]] bool empty() const { return in_headers.empty() && in_frames.empty(); }
    /// As numbers other than 0, and back; several ranks' may follow each other, with zeros between.
    [[nodiscard]] std::vector<std::int64_t> numbers() const;
    [[nodiscard]] static CrashedClips of(std::vector<std::int64_t> const& numbers);
    friend bool operator==(CrashedClips const&, CrashedClips const&) = default;
};

/// What its rows say: FFmpeg ended a rank.
inline constexpr std::string_view kCrashedText =
    "FFmpeg crashed on it in an earlier attempt of this run; it is left out (the run directory's "
    "crashed-clips has it)";

/// RUN_DIR/crashed-clips/ATTEMPT-RANK; "": no run directory.
[[nodiscard]] std::filesystem::path crash_file_of(std::filesystem::path const& run_dir, int attempt,
                                                  int rank);

/// All notes of the run, of any attempt and rank; cut ones are passed over.
[[nodiscard]] CrashedClips read_crashed_clips(std::filesystem::path const& run_dir);

}  // namespace osora::worker
