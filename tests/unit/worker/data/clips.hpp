// Clips made by the ffmpeg program, and its own decoding of them to compare with.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

/// A folder below the temporary one, removed with everything in it.
class TempFolder {
public:
    TempFolder();
    TempFolder(TempFolder const&) = delete;
    TempFolder& operator=(TempFolder const&) = delete;
    ~TempFolder();
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    [[nodiscard]] std::string file(std::string const& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

/// Runs `ffmpeg -v error -nostdin -y ARGUMENTS`; true when it ended with 0. Output is dropped.
[[nodiscard]] bool ffmpeg(std::vector<std::string> const& arguments);

/// Whether there is an ffmpeg program at all.
[[nodiscard]] bool have_ffmpeg();

/// A moving test picture with noise: `seconds` at 25 frames/s, then the encoder's arguments, then
/// the file.
[[nodiscard]] bool make_clip(std::string const& path, std::string const& size, double seconds,
                             std::vector<std::string> const& encoder);

/// Every frame of the file as ffmpeg shows them, one after the other, in `pix_fmt`.
[[nodiscard]] std::string all_frames(std::string const& path, std::string const& pix_fmt,
                                     std::string const& scratch);

/// ISO/IEC 14496-12, 8.3.2, of the first track of an mp4.
using DisplayMatrix = std::array<std::int32_t, 9>;
/// Copies an mp4 and gives it this matrix, as a phone does; by default one turn by 90 degrees.
void write_turned(std::string const& from, std::string const& to,
                  DisplayMatrix const& matrix = {0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30});

[[nodiscard]] std::string read_all(std::string const& path);
void write_all(std::string const& path, std::string const& content);

}  // namespace osora::worker
