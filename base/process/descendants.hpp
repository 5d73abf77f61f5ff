// The descendants of this process, and killing them: orphans of a worker must not outlive its run.
// Only a process that became subreaper before orphans were born can find them.
#pragma once

#include "base/ids.hpp"

#include <vector>

namespace osora {

/// From now on orphaned descendants become children of this process instead of init's.
void become_subreaper();

/// Living processes below `pid`: children, their children, and so on.
[[nodiscard]] std::vector<ProcessId> descendants_of(int pid);

/// Kills (SIGKILL) every living descendant of this process, reaps zombie children, and returns how
/// many were alive. Children in `spared` and their descendants are untouched. Call it again until
/// it returns 0: a process may be born during the scan.
int kill_descendants(std::vector<int> const& spared);

}  // namespace osora
