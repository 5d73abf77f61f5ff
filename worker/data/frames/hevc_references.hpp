// Private to worker/data: which pictures of an HEVC stream wanted ones depend on. Pure.
#pragma once

#include "worker/data/frames/hevc_headers.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace osora::worker {

/// Follows the references of packets in decoding order. FFmpeg decodes a picture exactly if those
/// in its reference lists are there; the others of its reference picture set may be missing.
class HevcReferences {
public:
    explicit HevcReferences(std::span<std::uint8_t const> extradata)
        : headers_(HevcHeaders::parse(extradata)) {}

    void add(std::span<std::uint8_t const> packet);

    /// For each packet that was added whether a decoder that starts at packet `first` must get it
    /// to decode the wanted ones exactly; those before `first` do not count. `wanted`: for each
    /// packet. Empty: not known (headers that are not read here, a damaged slice, parameter sets
    /// that change on the way, a start at another picture than one of random access).
    [[nodiscard]] std::vector<bool> needed(std::vector<bool> wanted, std::size_t first) const;

private:
    struct Picture {  // small: a film has 10^5
        std::int32_t poc = 0;
        std::uint32_t refs_end = 0;  // in refs_
        bool random_access = false;
        bool restarts = false;  // its order count does not follow from earlier ones
        bool anchors = false;   // those of later pictures are coded relative to its own
    };
    struct Held {  // in the reference picture set of the last picture, or that itself
        std::int64_t poc = 0;
        std::uint32_t packet = 0;
    };

    std::optional<HevcHeaders> headers_;  // nullopt: not known (any more)
    std::vector<Picture> pictures_;       // by packet
    std::vector<std::uint32_t> refs_;  // packets that each picture refers to, picture after picture
    std::vector<Held> held_;
    std::int64_t anchor_ = 0;  // order count of the last picture that anchors

    [[nodiscard]] bool add_slices(std::vector<HevcSlice> const& slices);
    /// The slices of the packet's one picture.
    [[nodiscard]] std::optional<std::vector<HevcSlice>> slices_of(
        std::span<std::uint8_t const> packet) const;
    /// From its lowest bits (8.3.1).
    [[nodiscard]] std::int64_t order_count(std::int64_t lsb, std::int64_t anchor) const;
};

}  // namespace osora::worker
