// The bucket of a step over ranks: one name, or all of them when ranks train different ones. Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora::protocol {

/// Makes `into` the label of both: "64x64x1" and "64x64x8" give "64x64x1+64x64x8". Names are sorted
/// and appear once each, so the order in which ranks report does not matter; of more than 16
/// different ones the first 16 are kept. An empty name adds nothing.
void merge_bucket(std::string& into, std::string_view other);

/// Whether ranks of the step trained different buckets.
[[nodiscard]] bool is_mixed_bucket(std::string_view label);

}  // namespace osora::protocol
