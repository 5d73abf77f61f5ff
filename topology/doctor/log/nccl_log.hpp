// Content of NCCL_DEBUG=INFO lines, summed over the logs of a node's ranks. Pure. Formats of 2.3 to
// 2.30; unknown lines are ignored.
#pragma once

#include "topology/doctor/log/watchdog_log.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology::doctor {

/// A problem, recognised by its message.
enum class LogTrouble {
    modify_qp,        // ibv_modify_qp failed, timed out: no path between two NICs
    foreign_device,   // ibv_modify_qp failed, no such device: a port that is not the container's
    bad_gid,          // ibv_modify_qp failed, no data or invalid: the GID does not exist
    gid_version,      // the RoCE version of a GID cannot be read: those of other containers
    retry_exceeded,   // completion with status 12
    flushed,          // completion with status 5: the connection had failed before
    completion,       // completion with another error
    port_event,       // a port went down
    device_fatal,     // an RDMA device stopped working
    shm,              // a segment of /dev/shm could not be made
    memory_register,  // ibv_reg_mr: cannot allocate memory
    open_files,       // too many open files
    ofi,              // libfabric found no provider or could not connect
    ofi_memory,       // libfabric could not register memory of a GPU
    plugin,           // a requested plug-in was not found
    version,          // incompatible versions of ranks or driver
    nvls,             // NVLS or multicast set-up failed
    imex,             // GPU memory cannot be shared over nodes: no IMEX channel
    no_interface,     // no interface that NCCL_SOCKET_IFNAME allows
    peer_access,      // P2P between GPUs failed
    hidden_gpu,       // a rank may not use its peer's GPU, which another limit of devices hides
    connect,          // no TCP connection to a peer
    no_id,            // a rank could not fetch NCCL's id from rank 0's store
    peer_closed,      // a peer closed its connection: its rank exited first
    bad_address,      // a peer's message was not understood: "address with family 0"
    duplicate_gpu,    // two ranks use one GPU
    gpu_memory,       // CUDA found no memory for NCCL
    gpu_broken,       // CUDA met an uncorrectable error of memory or NVLink
    fabric_manager,   // CUDA cannot start: nvidia-fabricmanager has not set up the NVSwitches
    mismatch,         // ranks called different collectives, or with different sizes
    heartbeat,        // PyTorch's watchdog thread was blocked
    cuda_error,       // PyTorch's watchdog met an error of CUDA
    graph_file,       // NCCL_GRAPH_FILE does not match the machine, or cannot be read
    topo_file         // NCCL_TOPO_FILE cannot be read
};

struct NcclLog {
    std::int64_t lines = 0;           // of NCCL
    std::set<std::string> versions;   // "2.21.5"
    std::set<std::string> rccl;       // versions of AMD's NCCL: "2.20.5"
    std::string cuda;                 // that NCCL was built with: "12.4"
    std::set<std::string> networks;   // "Socket", "IB", "AWS Libfabric"
    std::set<std::string> plugins;    // network plug-ins that were loaded: "FastSocket (v4)"
    std::string bootstrap_interface;  // the first one that ranks meet on
    std::set<std::string> socket_interfaces;       // that NET/Socket or the bootstrap uses
    std::map<std::string, std::string> addresses;  // of interfaces, as logged: "10.0.0.1"
    std::set<std::string> rdma_devices;            // that NET/IB uses: "mlx5_0:1"
    std::set<int> nics_used;                       // NET/IB numbers of the channels
    bool no_ib_device = false;
    // Number of channels, by transport.
    int via_ib = 0, via_gdr = 0, via_socket = 0, via_shm = 0, via_p2p = 0;
    bool gdr_disabled_for_hca = false;         // no module, or not supported
    std::string gdr_distance;                  // "distance 8 > 4": the first refusal
    int nvls_available = 0, nvls_missing = 0;  // devices
    std::set<int> mnnvl_states;                // fabric states; 3 = completed
    std::map<std::string, std::string> set_by_environment;
    int nodes = 0, ranks = 0;                     // maximum number that a communicator spans; 0 =
                                                  // not logged
    bool complete = false;                        // some communicator was set up
    std::map<int, std::set<int>> members;         // ranks of this log, by the number of ranks of
                                                  // their communicator
    std::string connect_retry;                    // first line about a connection that is tried
                                                  // again
    std::set<std::string> lost_peers;             // peers that no longer answered: "10.0.0.2",
                                                  // "node48"
    std::map<LogTrouble, std::string> troubles;   // with the first line of each
    std::map<std::string, std::string> warnings;  // first lines of NCCL's other warnings, by their
                                                  // words without numbers
    std::string exception;                        // first line of PyTorch about an error of NCCL
    Watchdogs watchdogs;                          // of PyTorch
};

/// Adds the lines of one log.
void add_nccl_log(NcclLog& log, std::string_view text);

/// Splits a log of several hosts by the host at the start of NCCL's lines ("n3:4711:4720 [0] NCCL
/// INFO"), whatever a launcher, a log collector or a terminal put before that. A line without a
/// host ("NCCL version 2.19.3") goes to the last line with the same prefix, else to the line before
/// it, else to the next. "" holds the rest: a log that names no host. Kernel lines about GPUs (Xid)
/// are included; all others are dropped.
[[nodiscard]] std::map<std::string, std::string> split_by_host(std::string_view text);

/// The line without colour sequences and carriage return, unwrapped from the JSON of Docker and log
/// collectors.
[[nodiscard]] std::string without_colours(std::string_view line);

}  // namespace osora::topology::doctor
