// Private to worker/data: the bits of an H.264 or HEVC NAL unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace osora::worker {

/// Removes emulation prevention bytes (ITU-T H.264, 7.4.1.1; H.265, 7.4.2.1). Returns zeros past
/// the end.
class NalBits {
public:
    explicit NalBits(std::span<std::uint8_t const> nal) {
        bytes_.reserve(nal.size());
        int zeros = 0;
        for (std::uint8_t const byte : nal) {
            bool const inserted = zeros >= 2 && byte == 3;  // emulation_prevention_three_byte
            zeros = byte == 0 ? zeros + 1 : 0;
            if (!inserted) bytes_.push_back(byte);
        }
    }
    [[nodiscard]] bool ended() const { return at_ > 8 * bytes_.size(); }
    unsigned bits(int count) {
        unsigned value = 0;
        for (; count > 0; --count, ++at_) {
            unsigned const byte = at_ / 8 < bytes_.size() ? bytes_[at_ / 8] : 0u;
            value = value << 1 | (byte >> (7 - at_ % 8) & 1);
        }
        return value;
    }
    bool flag() { return bits(1) != 0; }
    void skip(int count) { at_ += static_cast<std::size_t>(count); }
    /// Exp-Golomb codes (H.264, 9.1).
    unsigned ue() {
        int zeros = 0;
        while (zeros < 31 && !ended() && !flag()) ++zeros;
        return (1u << zeros) - 1 + bits(zeros);
    }
    int se() {
        auto const code = static_cast<int>(ue());
        return (code & 1) != 0 ? code / 2 + 1 : -(code / 2);
    }

private:
    std::vector<std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

}  // namespace osora::worker
