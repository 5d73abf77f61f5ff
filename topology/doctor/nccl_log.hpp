// What lines of NCCL_DEBUG=INFO say, added up over the logs of a node's ranks. Pure. Formats of
// 2.3 to 2.30; a line that is not known is passed over.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology::doctor {

/// Something that went wrong, by its words.
enum class LogTrouble {
    modify_qp,        // ibv_modify_qp failed, timed out: no path between two NICs
    bad_gid,          // ibv_modify_qp failed, no data or invalid: the GID is not there
    retry_exceeded,   // completion with status 12
    port_event,       // a port went down
    device_fatal,     // an RDMA device stopped working
    shm,              // a segment of /dev/shm could not be made
    memory_register,  // ibv_reg_mr: cannot allocate memory
    open_files,       // too many open files
    ofi,              // libfabric found no provider or could not connect
    plugin,           // a plug-in was asked for and not found
    version,          // ranks or driver of versions that do not fit
    nvls,             // NVLS or multicast set-up failed
    no_interface,     // no interface that NCCL_SOCKET_IFNAME allows
    peer_access,      // P2P between GPUs failed
    connect,          // no TCP connection to a peer
    peer_closed,      // a peer closed its connection: its rank ended first
    bad_address,      // a peer's message was not understood: "address with family 0"
    graph_file,       // NCCL_GRAPH_FILE does not fit the machine, or cannot be read
    topo_file         // NCCL_TOPO_FILE cannot be read
};

struct NcclLog {
    std::int64_t lines = 0;           // of NCCL
    std::set<std::string> versions;   // "2.21.5"
    std::string cuda;                 // that NCCL was built with: "12.4"
    std::set<std::string> networks;   // "Socket", "IB", "AWS Libfabric"
    std::set<std::string> plugins;    // network plug-ins that were loaded: "FastSocket (v4)"
    std::string bootstrap_interface;  // the first that ranks meet on
    std::set<std::string> socket_interfaces;       // that NET/Socket or the bootstrap uses
    std::map<std::string, std::string> addresses;  // of interfaces, as the log says: "10.0.0.1"
    std::set<std::string> rdma_devices;            // that NET/IB uses: "mlx5_0:1"
    std::set<int> nics_used;                       // NET/IB numbers of the channels
    bool no_ib_device = false;
    // Channels, by how they go.
    int via_ib = 0, via_gdr = 0, via_socket = 0, via_shm = 0, via_p2p = 0;
    bool gdr_disabled_for_hca = false;         // no module, or not able to
    std::string gdr_distance;                  // "distance 8 > 4": the first refusal
    int nvls_available = 0, nvls_missing = 0;  // devices
    std::set<int> mnnvl_states;                // fabric states; 3 = completed
    std::map<std::string, std::string> set_by_environment;
    int nodes = 0, ranks = 0;                    // most that a communicator spans; 0 = not told
    bool complete = false;                       // some communicator was set up
    std::set<std::string> lost_peers;            // that no longer answered: "10.0.0.2", "node48"
    std::map<LogTrouble, std::string> troubles;  // with the first line of each
};

/// Adds the lines of one log.
void add_nccl_log(NcclLog& log, std::string_view text);

/// A log of several hosts, cut by the host that NCCL writes in front ("n3:4711:4720 [0] NCCL
/// INFO"), whatever a launcher, a log collector or a terminal put before that. A line without a
/// host
/// ("NCCL version 2.19.3") goes with the last line that has the same prefix, else with the line
/// before it, else with the next. "" holds what is left: a log that names no host at all. Lines of
/// the kernel about GPUs (Xid) are taken, too; all others are left out.
[[nodiscard]] std::map<std::string, std::string> split_by_host(std::string_view text);

/// Without escape sequences that colour it, without a carriage return at its end, and out of the
/// JSON that Docker and log collectors wrap it in.
[[nodiscard]] std::string without_colours(std::string_view line);

}  // namespace osora::topology::doctor
