// The identity of this rank, from the environment set by its agent (or torchrun, or a person). Read
// once, in main.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace osora::worker {

struct RankEnvironment {
    int rank = 0;
    int local_rank = 0;
    int world_size = 1;
    int local_world_size = 1;
    std::string master_addr = "127.0.0.1";
    std::uint16_t master_port = 0;  // needed only with world_size > 1
    std::string interface;          // for collectives of CPU tensors; "": the one on the route to
                                    // master_addr
    int attempt = 0;                // relaunches of the run so far
    int agent_fd = -1;              // socketpair to the agent; -1: none, metrics go to stdout
    int store_fd = -1;              // rank 0: the listening socket of the store
};

/// RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, GLOO_SOCKET_IFNAME,
/// OSORA_ATTEMPT, OSORA_AGENT_FD, OSORA_STORE_FD; invalid_input names a variable that is not a
/// number or does not match the others.
[[nodiscard]] Result<RankEnvironment> rank_environment(
    std::map<std::string, std::string> const& environment);

/// Exit code (docs/contract.md section 4) of a worker that ends with this error.
[[nodiscard]] int exit_code_of(Error const& error);

}  // namespace osora::worker
