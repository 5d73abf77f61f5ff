// A rank of a probe: does what the leader orders, one thing at a time. Rank 0 also runs the leader,
// on a separate thread that its own prober reaches over TCP like the others. Exit codes: those of a
// worker.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <filesystem>

namespace osora::daemon {

/// `osorad prober RUN_DIR`. The rank, the leader's address and rank 0's listening socket come from
/// the environment as for any worker.
[[nodiscard]] int run_prober(std::filesystem::path const& run_dir, Environment const& environment);

}  // namespace osora::daemon
