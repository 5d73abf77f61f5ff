// The processes below this one, and ending them: what a worker left behind must not outlive its
// run. Orphans are only found by a process that became their subreaper before they were born.
#pragma once

#include "base/ids.hpp"

#include <vector>

namespace osora {

/// From now on orphans among our descendants become our children instead of init's.
void become_subreaper();

/// Living processes below `pid`: children, their children, and so on.
[[nodiscard]] std::vector<ProcessId> descendants_of(int pid);

/// Kills (SIGKILL) every living descendant of this process, reaps children that are zombies, and
/// returns how many were alive. Children in `spared` and everything below them are left alone.
/// Call again until it returns 0: a process may be born while this looks.
int kill_descendants(std::vector<int> const& spared);

}  // namespace osora
