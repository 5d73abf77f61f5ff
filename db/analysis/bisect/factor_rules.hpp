// Private to bisect/: what is known of items by their names. Tables; the reasons are in
// docs/rfc/013.
#pragma once

#include "db/analysis/bisect/factors.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

/// What the fact `name` of a run is as a factor.
[[nodiscard]] FactorKind kind_of_factor(std::string_view name, FactKind kind);

/// Labels of the couplings that a factor is part of: factors with one in common change together.
[[nodiscard]] std::vector<std::string> couplings_of(Factor const& factor);

}  // namespace osora::db::analysis
