// What osora ends with (docs/contract.md section 4).
#pragma once

namespace osora::cli {

constexpr int kExitOk = 0;
constexpr int kExitBad = 1;          // the answer is "bad": the run failed
constexpr int kExitUsage = 2;        // usage or invalid input
constexpr int kExitUndecided = 3;    // not enough data
constexpr int kExitUnreachable = 4;  // daemon, host or scheduler
constexpr int kExitInternal = 5;
constexpr int kExitInterrupted = 130;  // cancelled or interrupted

}  // namespace osora::cli
