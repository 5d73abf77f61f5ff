// Private to bisect/: knowledge about items by their names, as tables; the reasons are in
// docs/rfc/013.
#pragma once

#include "db/analysis/bisect/factors.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

/// The kind of factor of the fact `name` of a run.
[[nodiscard]] FactorKind kind_of_factor(std::string_view name, FactKind kind);

/// Labels of a factor's couplings: factors with a common label change together.
[[nodiscard]] std::vector<std::string> couplings_of(Factor const& factor);

}  // namespace osora::db::analysis
