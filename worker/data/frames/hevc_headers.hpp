// Private to worker/data: the part of HEVC's headers that says which pictures refer to which
// (ITU-T H.265, 7.3). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace osora::worker {

/// A picture by its distance in picture order count (POC, the order of display).
struct HevcRef {
    int delta = 0;      // its POC minus the current picture's
    bool used = false;  // the current picture may refer to it; if not, only later ones may
};

/// A short-term reference picture set: all pictures that the current one and later ones may refer
/// to, nearest first.
struct HevcRefSet {
    std::vector<HevcRef> before;  // shown before the current picture
    std::vector<HevcRef> after;
};

struct HevcSlice {
    int nal_type = 0;  // table 7-1
    int temporal_id = 0;
    bool first = false;          // of its picture
    bool drops_waiting = false;  // no_output_of_prior_pics_flag
    unsigned poc_lsb = 0;
    HevcRefSet refs;           // empty for IDR pictures
    std::vector<int> to_refs;  // deltas of pictures in the slice's reference lists
};

/// Whether a prefix SEI NAL unit has what FFmpeg applies to later pictures too: film grain, or the
/// orientation. Of a damaged one true.
[[nodiscard]] bool alters_later_pictures(std::span<std::uint8_t const> sei);

/// The parameter sets of a stream (hvcC).
class HevcHeaders {
public:
    /// nullopt: not hvcC, cut off, with several sets of one number, or a stream whose slices
    /// parse_slice() does not read: with long-term references, reordered reference lists, scaling
    /// lists that it sends, or of the profiles after 5 (scalable, screen content).
    [[nodiscard]] static std::optional<HevcHeaders> parse(std::span<std::uint8_t const> hvcc);

    /// Bytes before each NAL unit of a packet that give its length.
    [[nodiscard]] int nal_length_bytes() const { return nal_length_bytes_; }
    /// One of the parameter sets of hvcC, unchanged.
    [[nodiscard]] bool has(std::span<std::uint8_t const> parameter_set) const;
    /// POCs are coded modulo this.
    [[nodiscard]] int poc_modulus() const { return poc_modulus_; }
    /// `nal`: a slice segment, or its start. A dependent one refers to nothing more: `first` is
    /// false and `to_refs` empty. nullopt: it is damaged or of an unknown type.
    [[nodiscard]] std::optional<HevcSlice> parse_slice(std::span<std::uint8_t const> nal) const;

    struct Sequence {
        unsigned chroma_array_type = 0;
        bool separate_planes = false;
        int address_bits = 0;  // of a slice segment
        int poc_bits = 0;
        bool adaptive_offset = false;
        bool temporal_motion = false;
        std::vector<HevcRefSet> ref_sets;
    };
    struct Pictures {
        unsigned sequence = 0;
        bool dependent_slices = false;
        bool output_flag = false;
        int extra_bits = 0;
        std::array<unsigned, 2> refs_default{};  // active entries of both reference lists
    };

private:
    int nal_length_bytes_ = 0;
    int poc_modulus_ = 0;
    std::vector<std::vector<std::uint8_t>> parameter_sets_;
    std::array<std::optional<Sequence>, 16> sequences_;
    std::array<std::optional<Pictures>, 64> pictures_;

    [[nodiscard]] bool add(std::span<std::uint8_t const> nal);
};

}  // namespace osora::worker
