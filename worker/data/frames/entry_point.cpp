// Walks the NAL units of an H.264 packet. Every length comes from the file and is checked.
#include "worker/data/frames/entry_point.hpp"

#include <algorithm>
#include <array>

namespace osora::worker {
namespace {

using Bytes = std::span<std::uint8_t const>;

constexpr int kNalIdr = 5;
constexpr int kNalSei = 6;
constexpr unsigned kSeiRecoveryPoint = 6;

/// Cuts the first NAL unit off `rest`.
std::optional<Bytes> next_with_length(Bytes& rest, std::size_t length_bytes) {
    if (rest.size() < length_bytes) return std::nullopt;
    std::size_t size = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) size = size << 8 | rest[i];
    rest = rest.subspan(length_bytes);
    Bytes const nal = rest.first(std::min(size, rest.size()));
    rest = rest.subspan(nal.size());
    return nal;
}

std::optional<Bytes> next_with_start_code(Bytes& rest) {
    constexpr std::array<std::uint8_t, 3> kStartCode{0, 0, 1};
    auto const begin = std::ranges::search(rest, kStartCode);
    if (begin.empty()) return std::nullopt;
    Bytes const behind(begin.end(), rest.end());
    auto const end = std::ranges::search(behind, kStartCode);
    Bytes const nal(behind.begin(), end.begin());
    rest = behind.subspan(nal.size());
    return nal;
}

/// A number of an SEI header: 255s are added up to the first smaller byte.
std::optional<std::size_t> sei_number(Bytes& rest) {
    std::size_t value = 0;
    while (!rest.empty()) {
        std::uint8_t const byte = rest.front();
        rest = rest.subspan(1);
        value += byte;
        if (byte != 255) return value;
    }
    return std::nullopt;
}

bool has_exact_recovery_point(Bytes sei) {
    while (sei.size() > 2) {
        auto const type = sei_number(sei);
        auto const size = sei_number(sei);
        if (!type || !size || *size > sei.size()) return false;
        // recovery_frame_cnt is ue(v): 0 is a single 1 bit.
        if (*type == kSeiRecoveryPoint) return *size > 0 && (sei.front() & 0x80) != 0;
        sei = sei.subspan(*size);
    }
    return false;
}

}  // namespace

std::optional<Bytes> next_nal(Bytes& rest, int length_bytes) {
    return length_bytes == 0 ? next_with_start_code(rest)
                             : next_with_length(rest, static_cast<std::size_t>(length_bytes));
}

bool is_h264_entry_point(Bytes packet, int nal_length_bytes) {
    for (;;) {
        auto const nal = next_nal(packet, nal_length_bytes);
        if (!nal) return false;
        if (nal->empty()) continue;
        int const type = nal->front() & 0x1F;
        if (type == kNalIdr) return true;
        if (type == kNalSei && has_exact_recovery_point(nal->subspan(1))) return true;
    }
}

int h264_nal_length_bytes(Bytes extradata) {
    if (extradata.size() < 7 || extradata[0] != 1) return 0;
    return (extradata[4] & 3) + 1;
}

}  // namespace osora::worker
