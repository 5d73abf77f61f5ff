// What this build is; filled in by CMake.
#pragma once

namespace osora {

extern char const* const kVersion;    // "0.1.0"
extern char const* const kGitCommit;  // 40 hex digits, "-dirty" behind them, or "unknown"

}  // namespace osora
