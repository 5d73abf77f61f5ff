// Private to topology/: the rows of the catalogue, in three files.
#pragma once

#include "topology/nccl/nccl_catalogue.hpp"

#include <limits>

namespace osora::topology::rows {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

constexpr ValueRule in(std::int64_t min, std::int64_t max) {
    return {.kind = ValueKind::integer, .min = min, .max = max};
}
constexpr ValueRule bytes() {
    return in(1, kNoLimit);
}
constexpr ValueRule word(std::string_view words) {
    return {.kind = ValueKind::word, .words = words};
}
constexpr ValueRule any_case(std::string_view words) {
    return {.kind = ValueKind::word, .words = words, .any_case = true};
}
constexpr ValueRule flag() {
    return in(0, 1);
}
constexpr ValueRule kind(ValueKind each) {
    return {.kind = each};
}
constexpr ValueRule text() {
    return kind(ValueKind::text);
}

constexpr auto J = SettingClass::job;
constexpr auto P = SettingClass::probe;
constexpr auto S = SettingClass::site;
constexpr auto B = SettingClass::bisect;
constexpr auto kRank = SettingScope::rank;
constexpr auto kNode = SettingScope::node;
constexpr auto kJob = SettingScope::job;

[[nodiscard]] std::span<NcclVariable const> network_rows();  // sockets, InfiniBand, RoCE
[[nodiscard]] std::span<NcclVariable const> engine_rows();   // algorithms, channels, plug-ins, log
[[nodiscard]] std::span<NcclVariable const> other_rows();    // PyTorch, Gloo

}  // namespace osora::topology::rows
