// Reads parameter sets and slice headers up to the reference lists. Every length comes from the
// file and is checked; what is not understood is not guessed.
#include "worker/data/frames/hevc_headers.hpp"

#include "worker/data/frames/entry_point.hpp"
#include "worker/data/frames/nal_bits.hpp"

#include <algorithm>
#include <bit>

namespace osora::worker {
namespace {

using Bytes = std::span<std::uint8_t const>;
using Sequence = HevcHeaders::Sequence;
using Pictures = HevcHeaders::Pictures;

constexpr int kNalSequence = 33;
constexpr int kNalPictures = 34;
constexpr std::size_t kNalHeaderBytes = 2;
constexpr unsigned kRefsMax = 16;  // sps_max_dec_pic_buffering_minus1 + 1

int nal_type(Bytes nal) {
    return nal[0] >> 1 & 63;
}

int layer(Bytes nal) {
    return (nal[0] & 1) << 5 | nal[1] >> 3;
}

/// Ceil(Log2(count)).
int bits_for(unsigned count) {
    return count <= 1 ? 0 : static_cast<int>(std::bit_width(count - 1));
}

/// profile_tier_level(): the profile.
unsigned skip_profile(NalBits& nal, int sub_layers_minus1) {
    nal.skip(3);
    unsigned const profile = nal.bits(5);
    nal.skip(88);  // the rest of the profile, and the level
    if (sub_layers_minus1 == 0) return profile;
    int bits = 0;
    for (int i = 0; i < sub_layers_minus1; ++i) {
        bits += nal.flag() ? 88 : 0;
        bits += nal.flag() ? 8 : 0;
    }
    nal.skip(2 * (8 - sub_layers_minus1) + bits);
    return profile;
}

/// Of the set that another one is predicted from: entries in the order of its used flags.
std::vector<int> deltas_of(HevcRefSet const& set) {
    std::vector<int> deltas;
    for (HevcRef const& ref : set.before) deltas.push_back(ref.delta);
    for (HevcRef const& ref : set.after) deltas.push_back(ref.delta);
    deltas.push_back(0);  // the picture that has the set
    return deltas;
}

/// The pictures of an earlier set, seen from another picture (7.4.8, equations 7-61 and 7-62).
std::optional<HevcRefSet> predict_set(NalBits& nal, std::vector<HevcRefSet> const& sets,
                                      bool in_slice) {
    std::size_t const back = in_slice ? std::size_t{nal.ue()} + 1 : 1;
    bool const negative = nal.flag();
    unsigned const distance = nal.ue() + 1;
    if (back > sets.size() || distance > 1u << 15) return std::nullopt;
    int const shift = negative ? -static_cast<int>(distance) : static_cast<int>(distance);
    HevcRefSet set;
    for (int const delta : deltas_of(sets[sets.size() - back])) {
        bool const used = nal.flag();
        if (!used && !nal.flag()) continue;  // use_delta_flag
        int const moved = delta + shift;
        if (moved < 0) set.before.push_back({.delta = moved, .used = used});
        if (moved > 0) set.after.push_back({.delta = moved, .used = used});
    }
    if (set.before.size() + set.after.size() > kRefsMax) return std::nullopt;
    std::ranges::sort(set.before, std::ranges::greater(), &HevcRef::delta);
    std::ranges::sort(set.after, std::ranges::less(), &HevcRef::delta);
    return set;
}

/// st_ref_pic_set(). `sets`: of the sequence, those before it or, for a set in a slice, all.
std::optional<HevcRefSet> parse_ref_set(NalBits& nal, std::vector<HevcRefSet> const& sets,
                                        bool in_slice) {
    if (!sets.empty() && nal.flag()) return predict_set(nal, sets, in_slice);
    unsigned const before = nal.ue();
    unsigned const after = nal.ue();
    if (before > kRefsMax || after > kRefsMax || before + after > kRefsMax) return std::nullopt;
    HevcRefSet set;
    int delta = 0;
    for (unsigned i = 0; i < before; ++i) {
        delta -= static_cast<int>(nal.ue() & 0xffff) + 1;
        set.before.push_back({.delta = delta, .used = nal.flag()});
    }
    delta = 0;
    for (unsigned i = 0; i < after; ++i) {
        delta += static_cast<int>(nal.ue() & 0xffff) + 1;
        set.after.push_back({.delta = delta, .used = nal.flag()});
    }
    return set;
}

bool parse_ref_sets(NalBits& nal, Sequence& sequence) {
    constexpr unsigned kSetsMax = 64;
    unsigned const count = nal.ue();
    if (count > kSetsMax) return false;
    for (unsigned i = 0; i < count; ++i) {
        auto set = parse_ref_set(nal, sequence.ref_sets, /*in_slice=*/false);
        if (!set) return false;
        sequence.ref_sets.push_back(std::move(*set));
    }
    return true;
}

/// The size of a slice's address: of the number of coding tree blocks.
std::optional<int> parse_address_bits(NalBits& nal, unsigned width, unsigned height) {
    constexpr unsigned kSideMax = 1u << 16;
    unsigned const log2_block = nal.ue() + 3 + nal.ue();
    if (log2_block > 6 || width > kSideMax || height > kSideMax) return std::nullopt;
    auto const blocks = [&](unsigned side) {
        return (side + (1u << log2_block) - 1) >> log2_block;
    };
    return bits_for(blocks(width) * blocks(height));
}

/// seq_parameter_set_rbsp() from the chroma format on, up to temporal motion vectors.
std::optional<Sequence> parse_sequence(NalBits& nal, int sub_layers_minus1) {
    Sequence sequence;
    sequence.chroma_array_type = nal.ue();
    sequence.separate_planes = sequence.chroma_array_type == 3 && nal.flag();
    if (sequence.separate_planes) sequence.chroma_array_type = 0;
    unsigned const width = nal.ue();
    unsigned const height = nal.ue();
    for (int left = nal.flag() ? 4 : 0; left > 0; --left) nal.ue();  // conformance window
    nal.ue();
    nal.ue();  // bit depths
    sequence.poc_bits = static_cast<int>(nal.ue() & 0xff) + 4;
    int const layers = nal.flag() ? sub_layers_minus1 + 1 : 1;
    for (int left = 3 * layers; left > 0; --left) nal.ue();  // sizes of the picture buffer
    auto const address_bits = parse_address_bits(nal, width, height);
    if (!address_bits || sequence.poc_bits > 16) return std::nullopt;
    sequence.address_bits = *address_bits;
    for (int left = 4; left > 0; --left) nal.ue();      // transform blocks
    if (nal.flag() && nal.flag()) return std::nullopt;  // scaling lists
    nal.skip(1);
    sequence.adaptive_offset = nal.flag();
    if (nal.flag()) {  // PCM
        nal.skip(8);
        nal.ue();
        nal.ue();
        nal.skip(1);
    }
    if (!parse_ref_sets(nal, sequence)) return std::nullopt;
    if (nal.flag()) return std::nullopt;  // long-term references
    sequence.temporal_motion = nal.flag();
    if (nal.ended()) return std::nullopt;
    return sequence;
}

void skip_tiles(NalBits& nal) {
    unsigned const borders = (nal.ue() & 0xffff) + (nal.ue() & 0xffff);
    if (!nal.flag())
        for (unsigned left = borders; left > 0 && !nal.ended(); --left) nal.ue();
    nal.skip(1);
}

/// pic_parameter_set_rbsp() from the sequence's number on.
std::optional<Pictures> parse_pictures(NalBits& nal) {
    Pictures pictures;
    pictures.sequence = nal.ue();
    pictures.dependent_slices = nal.flag();
    pictures.output_flag = nal.flag();
    pictures.extra_bits = static_cast<int>(nal.bits(3));
    nal.skip(2);
    for (unsigned& count : pictures.refs_default) count = nal.ue() + 1;
    nal.se();
    nal.skip(2);
    if (nal.flag()) nal.ue();  // quantiser groups
    nal.se();
    nal.se();
    nal.skip(4);
    bool const tiles = nal.flag();
    nal.skip(1);
    if (tiles) skip_tiles(nal);
    nal.skip(1);
    if (nal.flag()) {  // deblocking
        nal.skip(1);
        if (!nal.flag()) {
            nal.se();
            nal.se();
        }
    }
    if (nal.flag()) return std::nullopt;  // scaling lists
    if (nal.flag()) return std::nullopt;  // reordered lists
    if (nal.ended() || std::ranges::max(pictures.refs_default) > kRefsMax) return std::nullopt;
    return pictures;
}

bool is_random_access(int type) {
    return type >= 16 && type <= 23;
}

bool is_idr(int type) {
    return type == 19 || type == 20;
}

/// The pictures in both reference lists (8.3.2, 8.3.4): list 0 begins with those before, list 1
/// with those after.
std::vector<int> in_lists(HevcRefSet const& set, std::array<unsigned, 2> const& counts) {
    std::vector<int> deltas;
    auto const list = [&](std::vector<HevcRef> const& near, std::vector<HevcRef> const& far,
                          unsigned left) {
        for (auto const* refs : {&near, &far}) {
            for (HevcRef const& ref : *refs) {
                if (!ref.used || left == 0) continue;
                deltas.push_back(ref.delta);
                --left;
            }
        }
    };
    list(set.before, set.after, counts[0]);
    list(set.after, set.before, counts[1]);
    return deltas;
}

/// A payload's type or size: 255s are added up to the first smaller byte.
unsigned sei_code(NalBits& sei) {
    unsigned sum = 0;
    for (unsigned byte = 255; byte == 255;) {
        byte = sei.bits(8);
        sum += byte;
    }
    return sum;
}

enum class SliceType : unsigned { b = 0, p = 1, i = 2 };

/// slice_segment_header() from the order count on.
bool parse_order(NalBits& nal, Sequence const& sequence, HevcSlice& slice) {
    slice.poc_lsb = nal.bits(sequence.poc_bits);
    if (!nal.flag()) {
        auto set = parse_ref_set(nal, sequence.ref_sets, /*in_slice=*/true);
        if (!set) return false;
        slice.refs = std::move(*set);
    } else {
        auto const count = static_cast<unsigned>(sequence.ref_sets.size());
        unsigned const index = nal.bits(bits_for(count));
        if (index >= count) return false;
        slice.refs = sequence.ref_sets[index];
    }
    if (sequence.temporal_motion) nal.skip(1);
    return true;
}

/// slice_segment_header() from the type on.
bool parse_references(NalBits& nal, Sequence const& sequence, Pictures const& pictures,
                      HevcSlice& slice) {
    unsigned const type = nal.ue();
    if (type > static_cast<unsigned>(SliceType::i)) return false;
    if (pictures.output_flag) nal.skip(1);
    if (sequence.separate_planes) nal.skip(2);
    if (!is_idr(slice.nal_type) && !parse_order(nal, sequence, slice)) return false;
    if (type == static_cast<unsigned>(SliceType::i)) return !nal.ended();
    if (sequence.adaptive_offset) nal.skip(sequence.chroma_array_type == 0 ? 1 : 2);
    auto counts = pictures.refs_default;
    bool const both = type == static_cast<unsigned>(SliceType::b);
    if (nal.flag()) {
        counts[0] = nal.ue() + 1;
        if (both) counts[1] = nal.ue() + 1;
    }
    if (!both) counts[1] = 0;
    if (std::ranges::max(counts) > kRefsMax) return false;
    slice.to_refs = in_lists(slice.refs, counts);
    return !nal.ended() && !slice.to_refs.empty();
}

}  // namespace

bool alters_later_pictures(Bytes sei) {
    constexpr unsigned kFilmGrain = 19, kOrientation = 47;  // D.2.1
    if (sei.size() <= kNalHeaderBytes) return true;
    NalBits bits(sei.subspan(kNalHeaderBytes));
    while (!bits.ended()) {
        unsigned const type = sei_code(bits);
        unsigned const bytes = sei_code(bits);
        if (type == kFilmGrain || type == kOrientation || bytes > sei.size()) return true;
        bits.skip(8 * static_cast<int>(bytes));
    }
    return false;
}

std::optional<HevcHeaders> HevcHeaders::parse(Bytes hvcc) {
    constexpr std::size_t kFixedBytes = 23;
    if (hvcc.size() < kFixedBytes || hvcc[0] != 1) return std::nullopt;
    HevcHeaders headers;
    headers.nal_length_bytes_ = (hvcc[21] & 3) + 1;
    int const arrays = hvcc[22];
    Bytes rest = hvcc.subspan(kFixedBytes);
    for (int i = 0; i < arrays; ++i) {
        if (rest.size() < 3) return std::nullopt;
        int const count = rest[1] << 8 | rest[2];
        rest = rest.subspan(3);
        for (int k = 0; k < count; ++k) {
            auto const nal = next_nal(rest, 2);
            if (!nal || !headers.add(*nal)) return std::nullopt;
        }
    }
    if (headers.poc_modulus_ == 0) return std::nullopt;
    return headers;
}

bool HevcHeaders::add(Bytes nal) {
    if (nal.size() <= kNalHeaderBytes) return false;
    if (has(nal)) return true;
    parameter_sets_.emplace_back(nal.begin(), nal.end());
    if (layer(nal) != 0) return true;
    NalBits bits(nal.subspan(kNalHeaderBytes));
    if (nal_type(nal) == kNalSequence) {
        constexpr unsigned kProfileMax = 5;
        bits.skip(4);
        auto const sub_layers_minus1 = static_cast<int>(bits.bits(3));
        bits.skip(1);
        if (skip_profile(bits, sub_layers_minus1) > kProfileMax) return false;
        unsigned const id = bits.ue();
        auto sequence = parse_sequence(bits, sub_layers_minus1);
        if (id >= sequences_.size() || sequences_[id] || !sequence) return false;
        int const modulus = 1 << sequence->poc_bits;
        if (poc_modulus_ != 0 && poc_modulus_ != modulus) return false;
        poc_modulus_ = modulus;
        sequences_[id] = std::move(sequence);
    }
    if (nal_type(nal) == kNalPictures) {
        unsigned const id = bits.ue();
        auto const pictures = parse_pictures(bits);
        if (id >= pictures_.size() || pictures_[id] || !pictures) return false;
        pictures_[id] = pictures;
    }
    return true;
}

bool HevcHeaders::has(Bytes parameter_set) const {
    return std::ranges::any_of(parameter_sets_, [&](auto const& known) {
        return std::ranges::equal(known, parameter_set);
    });
}

std::optional<HevcSlice> HevcHeaders::parse_slice(Bytes nal) const {
    constexpr std::size_t kHeaderBytes = 256;  // of a slice, at most, up to the lists
    if (nal.size() <= kNalHeaderBytes) return std::nullopt;
    HevcSlice slice;
    slice.nal_type = nal_type(nal);
    slice.temporal_id = (nal[1] & 7) - 1;
    bool const known = slice.nal_type <= 9 || (slice.nal_type >= 16 && slice.nal_type <= 21);
    if (!known || slice.temporal_id < 0) return std::nullopt;
    NalBits bits(
        nal.subspan(kNalHeaderBytes, std::min(nal.size() - kNalHeaderBytes, kHeaderBytes)));
    slice.first = bits.flag();
    slice.drops_waiting = is_random_access(slice.nal_type) && bits.flag();
    unsigned const id = bits.ue();
    if (id >= pictures_.size() || !pictures_[id]) return std::nullopt;
    Pictures const& pictures = *pictures_[id];
    if (pictures.sequence >= sequences_.size() || !sequences_[pictures.sequence]) {
        return std::nullopt;
    }
    Sequence const& sequence = *sequences_[pictures.sequence];
    if (!slice.first) {
        bool const dependent = pictures.dependent_slices && bits.flag();
        bits.skip(sequence.address_bits);
        if (dependent) return slice;
    }
    bits.skip(pictures.extra_bits);
    if (!parse_references(bits, sequence, pictures, slice)) return std::nullopt;
    return slice;
}

}  // namespace osora::worker
