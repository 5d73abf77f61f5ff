// A setting that is a value or "auto" (decided by the planner and printed with its reason).
#pragma once

#include <optional>
#include <utility>

namespace osora {

template <class T>
struct AutoOr {
    std::optional<T> value;  // nullopt = "auto"

    AutoOr() = default;
    AutoOr(T fixed) : value(std::move(fixed)) {}  // NOLINT: a plain value reads as itself

    [[nodiscard]] bool is_auto() const { return !value.has_value(); }
    [[nodiscard]] T value_or(T decided) const { return value ? *value : std::move(decided); }
    friend bool operator==(AutoOr const&, AutoOr const&) = default;
};

}  // namespace osora
