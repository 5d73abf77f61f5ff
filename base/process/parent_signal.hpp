// Who may end this process with SIGTERM.
#pragma once

namespace osora {

/// From now on SIGTERM ends this process only when its parent sends it. A scheduler that preempts
/// or cancels a job signals every process of it at once; the parent decides what is saved first.
/// `before`: called in the handler, on the way out; async-signal-safe, may be null.
void only_parent_terminates(void (*before)() = nullptr);

}  // namespace osora
