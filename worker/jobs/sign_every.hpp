// How often a rank shows that it still reads or writes a checkpoint, so that it does not look like
// a hang (daemon/controller/hang).
#pragma once

#include <chrono>

namespace osora::worker {

constexpr std::chrono::seconds kSignEvery{10};

}  // namespace osora::worker
