// The what-if analysis of a trace as text for 80 columns and as JSON. Pure.
#pragma once

#include "db/analysis/whatif/whatif.hpp"
#include "protocol/json.hpp"

#include <string>

namespace osora::cli {

/// How much straggling there is and its source, then op types, stages and workers; ends with a
/// newline.
[[nodiscard]] std::string whatif_text(db::whatif::WhatIf const& found, std::string const& file);

/// Members of osora.whatif/1. Unknown shares are null.
[[nodiscard]] protocol::json::object whatif_json(db::whatif::WhatIf const& found);

}  // namespace osora::cli
