// What ranks must agree on in a step, encoded in the stop vote's all_reduce: no additional
// collective. Only ranks that disagree gather each other's values, to name them. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace osora::worker {

/// One rank's part of a step.
struct StepTerms {
    int step = -1;
    std::string bucket;  // "64x64x8"; empty: ranks may train on different ones
    int passes = 0;      // micro-batches
    friend bool operator==(StepTerms const&, StepTerms const&) = default;
};

/// What ranks of one share of a batch (data-parallel rank) read; all of them must have the same.
struct SharedClips {
    int share = 0, shares = 0;  // 0: not compared
    std::uint64_t hash = 0;
};
/// Appends numbers whose maxima over ranks show in which shares ranks read other clips.
void append_numbers(SharedClips const& clips, std::vector<double>& numbers);
/// "": none. `maxima`: only those of append_numbers().
[[nodiscard]] std::string describe_other_clips(std::span<double const> maxima, int step);

/// Numbers whose maxima over ranks show whether all have the same: each with its negative.
constexpr std::size_t kTermNumbers = 6;
[[nodiscard]] std::array<double, kTermNumbers> numbers_of(StepTerms const& terms);
[[nodiscard]] bool agree(std::span<double const, kTermNumbers> maxima);

/// Of a fixed size, to be gathered.
constexpr std::size_t kTermBytes = 64;
[[nodiscard]] std::array<std::uint8_t, kTermBytes> packed(StepTerms const& terms);
[[nodiscard]] StepTerms unpacked(std::span<std::uint8_t const, kTermBytes> bytes);

/// "ranks do not agree on the step: ranks 0-1 do step 7 with bucket 64x64x8 in 2 passes; rank 2
/// ...".
[[nodiscard]] std::string describe_terms(std::vector<StepTerms> const& of_ranks);

}  // namespace osora::worker
