// Processes known by their environment: whoever inherited NAME=value from a program that we started
// is found again, also when its parents are gone.
#pragma once

#include "base/environment.hpp"
#include "base/ids.hpp"

#include <vector>

namespace osora {

/// Living processes of this user, except this one, whose environment at their exec held every entry
/// of `marks`.
[[nodiscard]] std::vector<ProcessId> processes_marked(Environment const& marks);

}  // namespace osora
