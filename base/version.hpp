// The version of this build; set by CMake.
#pragma once

namespace osora {

extern char const* const kVersion;    // "0.1.0"
extern char const* const kGitCommit;  // 40 hex digits, with "-dirty" appended, or "unknown"

}  // namespace osora
