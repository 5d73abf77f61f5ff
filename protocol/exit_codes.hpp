// How osorad and its helpers end: the codes of docs and scripts. Those of workers: verdicts.hpp.
#pragma once

namespace osora {

constexpr int kExitUsage = 2;        // usage or invalid input
constexpr int kExitUnreachable = 4;  // no daemon, host or scheduler
constexpr int kExitInternal = 5;

}  // namespace osora
