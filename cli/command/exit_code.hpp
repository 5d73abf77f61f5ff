// osora's exit codes (docs/contract.md section 4).
#pragma once

#include "protocol/exit_codes.hpp"  // kExitUsage, kExitUnreachable, kExitInternal

namespace osora::cli {

constexpr int kExitOk = 0;
constexpr int kExitBad = 1;            // the answer is negative: the run failed
constexpr int kExitUndecided = 3;      // not enough data
constexpr int kExitInterrupted = 130;  // cancelled or interrupted

}  // namespace osora::cli
