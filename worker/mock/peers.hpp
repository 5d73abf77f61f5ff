// Keeps the mock ranks in step, like collectives in a real worker: rank 0 is a small server on the
// run's store port, the others are its clients. A peer that is gone is an error, as with Gloo.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <string>
#include <vector>

namespace osora::mock {

struct PeerOptions {
    int rank = 0;
    int world_size = 1;
    std::string store_host;
    int store_port = 0;
    int store_fd = -1;  // rank 0: the listening socket that the agent bound
};

class Peers {
public:
    /// Meets all other ranks; at most 60 s.
    [[nodiscard]] static Result<Peers> meet(PeerOptions const& options);

    /// Waits until every rank is here; all return the `stop` of rank 0.
    [[nodiscard]] Result<bool> agree(bool stop);

private:
    explicit Peers(int rank) : rank_(rank) {}
    [[nodiscard]] Result<void> serve(PeerOptions const& options);
    [[nodiscard]] Result<void> join(PeerOptions const& options);

    int rank_;
    std::vector<Descriptor> sockets_;  // rank 0: one for each other rank; others: one, to rank 0
};

}  // namespace osora::mock
