// The id of the explanation of how a run ended: "E-oom" (osora explain E-oom). Pure.
#pragma once

#include "protocol/run_view.hpp"

#include <string_view>

namespace osora::protocol {

/// Of a run that did not end ok; empty: it did, or has not ended.
[[nodiscard]] std::string_view failure_id(RunView const& view);

}  // namespace osora::protocol
