// Exit codes of every program (docs/contract.md section 4), in one place.
#pragma once

namespace osora {

// osora and osorad; codes that only osora has are in cli/command/exit_code.hpp.
constexpr int kExitUsage = 2;        // usage or invalid input
constexpr int kExitUnreachable = 4;  // no daemon, host or scheduler
constexpr int kExitInternal = 5;

namespace protocol {

// osora-worker, osora-worker-mock, osora-clips and `osorad prober`.
constexpr int kExitOk = 0, kExitComm = 10, kExitRefused = 11, kExitOutOfMemory = 12;
constexpr int kExitData = 13, kExitConfiguration = 14, kExitCheckFailed = 15;
constexpr int kExitEndedByController = 16, kExitGpu = 17, kExitDoNotRequeue = 93;

}  // namespace protocol
}  // namespace osora
