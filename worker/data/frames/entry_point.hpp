// Private to worker/data: whether decoding from a packet is exact from its picture on. Containers
// flag more packets as keyframes than those.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace osora::worker {

/// Removes the first NAL unit from `rest`: after its length of so many bytes, or with 0 after a
/// start code (Annex B). It may be empty; nullopt: there is none.
[[nodiscard]] std::optional<std::span<std::uint8_t const>> next_nal(
    std::span<std::uint8_t const>& rest, int length_bytes);

/// H.264: true for an IDR picture, and for a recovery point that needs no further frames
/// (recovery_frame_cnt 0, open groups of pictures); false if the picture is refreshed gradually
/// over the next frames (ITU-T H.264, D.2.8). `nal_length_bytes`: 1-4 before each NAL unit, or 0
/// for start codes.
[[nodiscard]] bool is_h264_entry_point(std::span<std::uint8_t const> packet, int nal_length_bytes);

/// From avcC extradata; 0 when it is not avcC (start codes).
[[nodiscard]] int h264_nal_length_bytes(std::span<std::uint8_t const> extradata);

}  // namespace osora::worker
