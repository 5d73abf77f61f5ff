// Reads a sequence parameter set up to its aspect ratio (ITU-T H.264, 7.3.2.1.1, E.1.1, E.2.1).
// Every length comes from the file and is checked.
#include "worker/data/frames/h264_ratio.hpp"

#include "worker/data/frames/nal_bits.hpp"

#include <algorithm>
#include <array>

namespace osora::worker {
namespace {

void skip_scaling_list(NalBits& sps, int size) {
    int last = 8, next = 8;
    for (int i = 0; i < size && !sps.ended(); ++i) {
        if (next != 0) next = (last + sps.se() % 256 + 256) % 256;
        if (next != 0) last = next;
    }
}

void skip_chroma(NalBits& sps) {
    unsigned const format = sps.ue();
    if (format == 3) sps.flag();
    sps.ue();
    sps.ue();
    sps.flag();
    if (!sps.flag()) return;
    for (int i = 0; i < (format == 3 ? 12 : 8); ++i)
        if (sps.flag()) skip_scaling_list(sps, i < 6 ? 16 : 64);
}

void skip_picture_order(NalBits& sps) {
    unsigned const type = sps.ue();
    if (type == 0) sps.ue();
    if (type != 1) return;
    sps.flag();
    sps.se();
    sps.se();
    for (unsigned left = sps.ue(); left > 0 && !sps.ended(); --left) sps.se();
}

void skip_frame_size(NalBits& sps) {
    sps.ue();    // max_num_ref_frames
    sps.flag();  // gaps_in_frame_num_value_allowed_flag
    sps.ue();
    sps.ue();
    if (!sps.flag()) sps.flag();
    sps.flag();
    if (!sps.flag()) return;
    for (int i = 0; i < 4; ++i) sps.ue();  // cropping
}

/// Table E-1.
std::optional<PixelRatio> ratio_of(NalBits& sps) {
    constexpr std::array<PixelRatio, 17> kRatios{{{0, 0},
                                                  {1, 1},
                                                  {12, 11},
                                                  {10, 11},
                                                  {16, 11},
                                                  {40, 33},
                                                  {24, 11},
                                                  {20, 11},
                                                  {32, 11},
                                                  {80, 33},
                                                  {18, 11},
                                                  {15, 11},
                                                  {64, 33},
                                                  {160, 99},
                                                  {4, 3},
                                                  {3, 2},
                                                  {2, 1}}};
    constexpr unsigned kExtended = 255;
    unsigned const index = sps.bits(8);
    PixelRatio ratio = index < kRatios.size() ? kRatios[index] : PixelRatio{0, 0};
    if (index == kExtended) {
        ratio.width = static_cast<int>(sps.bits(16));
        ratio.height = static_cast<int>(sps.bits(16));
    }
    if (sps.ended() || ratio.width == 0 || ratio.height == 0) return std::nullopt;
    return ratio;
}

bool has_chroma_format(unsigned profile) {
    constexpr std::array<unsigned, 13> kProfiles{100, 110, 122, 244, 44,  83, 86,
                                                 118, 128, 138, 139, 134, 135};
    return std::ranges::find(kProfiles, profile) != kProfiles.end();
}

}  // namespace

std::optional<PixelRatio> h264_pixel_ratio(std::span<std::uint8_t const> extradata) {
    if (extradata.size() < 12 || extradata[0] != 1 || (extradata[5] & 31) == 0) return std::nullopt;
    std::size_t const size = static_cast<std::size_t>(extradata[6]) << 8 | extradata[7];
    if (size < 4 || 8 + size > extradata.size()) return std::nullopt;
    NalBits sps(extradata.subspan(9, size - 1));
    unsigned const profile = sps.bits(8);
    sps.bits(16);
    sps.ue();
    if (has_chroma_format(profile)) skip_chroma(sps);
    sps.ue();  // log2_max_frame_num_minus4
    skip_picture_order(sps);
    skip_frame_size(sps);
    if (!sps.flag() || !sps.flag()) return std::nullopt;  // VUI, and a ratio in it
    return ratio_of(sps);
}

}  // namespace osora::worker
