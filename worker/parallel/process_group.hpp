// The ranks of a run as one c10d group: Gloo, and also NCCL if they use GPUs. The agent of node 0
// opens the store's socket, so a port cannot be taken between choice and use. Failures of peers are
// Errc::unreachable.
#pragma once

#include "base/result.hpp"
#include "worker/parallel/device.hpp"

#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace osora::worker {

class FlightRecorder;

struct GroupConfig {
    int rank = 0;
    int world_size = 1;
    std::string store_host = "127.0.0.1";
    std::uint16_t store_port = 0;
    int listen_fd = -1;                    // rank 0: an open listening socket on store_port, or -1
    std::string my_address = "127.0.0.1";  // address or host name the peers reach this rank by
    std::string my_interface = "";         // "ib0": instead of my_address
    double timeout_s = 60;                 // of joining and of each collective
    std::shared_ptr<FlightRecorder> flight = nullptr;  // recorder of collectives; null: none
};

/// A joined group; shared by its copies.
class Group {
public:
    struct Impl;
    explicit Group(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

    [[nodiscard]] int rank() const;
    [[nodiscard]] int world_size() const;
    [[nodiscard]] c10d::Backend& backend() const;  // Gloo: tensors on the CPU
    /// For tensors on the ranks' devices: NCCL after use_nccl(), else backend().
    [[nodiscard]] c10d::Backend& device_backend() const;
    /// Makes an NCCL group of the same ranks; all of them call it.
    [[nodiscard]] Result<void> use_nccl(Device const& device);
    /// The group of `ranks`, in this order. Every rank of this group must call it with the ranks of
    /// its own part; `name` must be unique.
    [[nodiscard]] Result<Group> split(std::string const& name, std::vector<int> const& ranks) const;
    /// The recorder of its collectives; null: none.
    [[nodiscard]] FlightRecorder* flight() const;
    [[nodiscard]] c10d::Store& store() const;
    [[nodiscard]] c10::intrusive_ptr<c10d::Store> const& store_handle() const;  // to build upon

private:
    std::shared_ptr<Impl> impl_;
};

/// Joins; returns when all ranks have joined, or with Errc::unreachable after timeout_s.
[[nodiscard]] Result<Group> join_gloo_group(GroupConfig const& config);

/// A group over the caller's backend: fakes, and recorders of a rank's calls. `store` may be null
/// if nobody reads it.
[[nodiscard]] Group make_group(c10::intrusive_ptr<c10d::Store> store,
                               c10::intrusive_ptr<c10d::Backend> backend);

/// Called before ranks that are threads of one process join. Switches libtorch's flight recorder
/// off for this process: it notes the first collective of a group without a lock (2.11,
/// FlightRecorder::recordWithResetEnabled), and two groups in one process spoil its map.
void allow_ranks_as_threads();

/// Joins over the caller's store: ranks as threads of one process over a HashStore.
[[nodiscard]] Result<Group> join_gloo_group(c10::intrusive_ptr<c10d::Store> store,
                                            GroupConfig const& config);

}  // namespace osora::worker
