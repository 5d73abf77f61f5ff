// Order counts as a decoder derives them, and the closure of references from the wanted pictures.
#include "worker/data/frames/hevc_references.hpp"

#include "worker/data/frames/entry_point.hpp"

#include <algorithm>
#include <utility>

namespace osora::worker {
namespace {

constexpr int kNalSliceEnd = 32;  // types below hold slices
constexpr int kNalParametersEnd = 35;
constexpr int kNalSequenceEnd = 36;
constexpr int kNalStreamEnd = 37;
constexpr int kNalPrefixSei = 39;
constexpr int kNalRandomAccess = 16;  // the first type of those below kNalSliceEnd

bool is_idr_or_bla(int type) {
    return type >= 16 && type <= 20;
}

/// RADL and RASL pictures, and those that no other picture of their temporal layer refers to.
bool is_leading_or_unreferenced(int type) {
    return (type >= 6 && type <= 9) || (type < 16 && type % 2 == 0);
}

}  // namespace

std::optional<std::vector<HevcSlice>> HevcReferences::slices_of(
    std::span<std::uint8_t const> packet) const {
    std::vector<HevcSlice> slices;
    bool alters = false;
    while (!packet.empty()) {
        auto const nal = next_nal(packet, headers_->nal_length_bytes());
        if (!nal || nal->size() < 2) return std::nullopt;
        int const type = nal->front() >> 1 & 63;
        bool const base_layer = (nal->front() & 1) == 0 && (*nal)[1] >> 3 == 0;
        // FFmpeg up to 6 takes an end of any layer for one of the stream, but decodes no other.
        if (type == kNalSequenceEnd || type == kNalStreamEnd) return std::nullopt;
        if (!base_layer) continue;
        if (type == kNalPrefixSei) alters = alters || alters_later_pictures(*nal);
        if (type >= kNalSliceEnd) {
            if (type < kNalParametersEnd && !headers_->has(*nal)) return std::nullopt;
            continue;
        }
        auto slice = headers_->parse_slice(*nal);
        if (!slice || slice->first != slices.empty()) return std::nullopt;
        slices.push_back(std::move(*slice));
    }
    if (slices.empty()) return std::nullopt;
    // Those with a random access picture are never left out.
    if (alters && slices.front().nal_type < kNalRandomAccess) return std::nullopt;
    return slices;
}

std::int64_t HevcReferences::order_count(std::int64_t lsb, std::int64_t anchor) const {
    std::int64_t const modulus = headers_->poc_modulus();
    std::int64_t const anchor_lsb = (anchor % modulus + modulus) % modulus;
    std::int64_t count = anchor - anchor_lsb + lsb;
    if (lsb < anchor_lsb && anchor_lsb - lsb >= modulus / 2) count += modulus;
    if (lsb > anchor_lsb && lsb - anchor_lsb > modulus / 2) count -= modulus;
    return count;
}

void HevcReferences::add(std::span<std::uint8_t const> packet) {
    if (!headers_) return;
    auto const slices = slices_of(packet);
    if (slices && add_slices(*slices)) return;
    headers_.reset();
    pictures_.clear();
    refs_.clear();
}

bool HevcReferences::add_slices(std::vector<HevcSlice> const& slices) {
    HevcSlice const& first = slices.front();
    int const type = first.nal_type;
    // Where fewer pictures are decoded, other ones wait for output.
    if (first.drops_waiting && !pictures_.empty()) return false;
    bool const restarts = pictures_.empty() || is_idr_or_bla(type);
    std::int64_t const poc = restarts ? first.poc_lsb : order_count(first.poc_lsb, anchor_);
    if (!std::in_range<std::int32_t>(poc)) return false;
    std::erase_if(held_, [&](Held const& held) {
        auto const is_it = [&](HevcRef const& ref) { return ref.delta == held.poc - poc; };
        return restarts || (std::ranges::none_of(first.refs.before, is_it) &&
                            std::ranges::none_of(first.refs.after, is_it));
    });
    for (Held const& held : held_) {
        bool const used = std::ranges::any_of(slices, [&](HevcSlice const& slice) {
            return std::ranges::find(slice.to_refs, held.poc - poc) != slice.to_refs.end();
        });
        if (used) refs_.push_back(held.packet);
    }
    held_.push_back({.poc = poc, .packet = static_cast<std::uint32_t>(pictures_.size())});
    bool const anchors = first.temporal_id == 0 && !is_leading_or_unreferenced(type);
    if (anchors) anchor_ = poc;
    pictures_.push_back({.poc = static_cast<std::int32_t>(poc),
                         .refs_end = static_cast<std::uint32_t>(refs_.size()),
                         .random_access = type >= kNalRandomAccess,
                         .restarts = restarts,
                         .anchors = anchors});
    return true;
}

std::vector<bool> HevcReferences::needed(std::vector<bool> wanted, std::size_t first) const {
    if (!headers_ || wanted.size() != pictures_.size() || first >= wanted.size()) return {};
    if (!pictures_[first].random_access) return {};  // it may depend on pictures before it
    std::vector<bool>& needed = wanted;
    for (std::size_t i = needed.size(); i-- > first;) {
        if (pictures_[i].random_access) needed[i] = true;
        if (!needed[i]) continue;
        for (std::size_t k = i == 0 ? 0 : pictures_[i - 1].refs_end; k < pictures_[i].refs_end; ++k)
            needed[refs_[k]] = true;
    }
    // The decoder derives an order count from that of the last anchor that it got.
    std::int64_t anchor = 0;
    for (std::size_t i = first; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        Picture const& picture = pictures_[i];
        std::int64_t const modulus = headers_->poc_modulus();
        std::int64_t const lsb = (picture.poc % modulus + modulus) % modulus;
        bool const derived = i != first && !picture.restarts;
        if (derived && order_count(lsb, anchor) != picture.poc) return {};
        if (picture.anchors) anchor = picture.poc;
    }
    return needed;
}

}  // namespace osora::worker
