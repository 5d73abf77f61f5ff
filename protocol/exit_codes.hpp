// How osorad and its helpers end (docs/contract.md section 4). Those of workers: verdicts.hpp.
#pragma once

namespace osora {

constexpr int kExitUsage = 2;        // usage or invalid input
constexpr int kExitUnreachable = 4;  // no daemon, host or scheduler
constexpr int kExitInternal = 5;

}  // namespace osora
