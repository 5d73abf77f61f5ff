// Finds processes by their environment: a process that inherited NAME=value from a program that
// osora started is found, even when its parents have ended.
#pragma once

#include "base/environment.hpp"
#include "base/ids.hpp"

#include <vector>

namespace osora {

/// Living processes of this user, except this one, whose environment at their exec held every entry
/// of `marks`.
[[nodiscard]] std::vector<ProcessId> processes_marked(Environment const& marks);

}  // namespace osora
