// "did you mean ...?": the known name nearest to the typed one. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace osora {

/// Edits (insert, delete, replace a byte; swap two neighbours) that turn `a` into `b`.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The first of the candidates at the smallest distance, when that is small enough for a typo (a
/// third of the longer name, at least 1; a change of case counts as nothing, a truncated name as
/// one edit); "" never matches.
[[nodiscard]] std::optional<std::string_view> nearest_name(
    std::string_view typed, std::span<std::string_view const> candidates);

}  // namespace osora
