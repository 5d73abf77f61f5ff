// Problems, recognised by NCCL's messages: src/transport/net_ib.cc, src/misc, src/graph/*.cc of 2.4
// to 2.30.
#include "base/text/text.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"

#include <algorithm>
#include <array>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

struct TroubleWords {
    LogTrouble trouble;
    View first, second;  // both are in the line; second may be empty
};

constexpr std::array kTroubleWords{
    TroubleWords{LogTrouble::bad_gid, "ibv_modify_qp failed", "No data available"},
    TroubleWords{LogTrouble::bad_gid, "ibv_modify_qp failed", "Invalid argument"},
    TroubleWords{LogTrouble::foreign_device, "ibv_modify_qp failed", "No such device"},
    TroubleWords{LogTrouble::modify_qp, "ibv_modify_qp failed", ""},
    TroubleWords{LogTrouble::gid_version, "ncclIbRoceGetVersionNum", ""},
    TroubleWords{LogTrouble::completion, "Got completion", "RNR_RETRY_EXC_ERR"},  // 13
    TroubleWords{LogTrouble::retry_exceeded, "Got completion", "status=12 "},
    TroubleWords{LogTrouble::retry_exceeded, "Got completion", "RETRY_EXC_ERR"},
    TroubleWords{LogTrouble::retry_exceeded, "Got completion", "error 12,"},
    TroubleWords{LogTrouble::flushed, "Got completion", "status=5 "},
    TroubleWords{LogTrouble::flushed, "Got completion", "WR_FLUSH_ERR"},
    TroubleWords{LogTrouble::flushed, "Got completion", "error 5,"},
    TroubleWords{LogTrouble::completion, "Got completion", "status="},
    TroubleWords{LogTrouble::completion, "Got completion", "with error "},
    TroubleWords{LogTrouble::mismatch, "collective mismatch", ""},
    TroubleWords{LogTrouble::mismatch, "Mismatched collective", ""},
    TroubleWords{LogTrouble::mismatch, "message truncated", ""},
    TroubleWords{LogTrouble::duplicate_gpu, "Duplicate GPU detected", ""},
    TroubleWords{LogTrouble::cuda_error, "watchdog thread terminated", "CUDA error: "},
    TroubleWords{LogTrouble::heartbeat, "watchdog got stuck for", ""},
    TroubleWords{LogTrouble::heartbeat, "Heartbeat monitor timed out", ""},
    TroubleWords{LogTrouble::port_event, "NET/IB", "port error"},
    TroubleWords{LogTrouble::device_fatal, "NET/IB", "async fatal event"},
    TroubleWords{LogTrouble::device_fatal, "NET/IB", "local catastrophic error"},
    TroubleWords{LogTrouble::graph_file, "XML Import Channel", "not found"},
    TroubleWords{LogTrouble::graph_file, "XML graph has wrong version", ""},
    TroubleWords{LogTrouble::graph_file, "Could not open XML graph file", ""},
    TroubleWords{LogTrouble::topo_file, "XML Topology has wrong version", ""},
    TroubleWords{LogTrouble::topo_file, "Could not open XML topology file", ""},
    TroubleWords{LogTrouble::topo_file, "NCCL WARN XML Parse", ""},
    TroubleWords{LogTrouble::bad_address, " with family ", "neither AF_INET"},
    TroubleWords{LogTrouble::shm, "shared memory segment", "rror"},
    TroubleWords{LogTrouble::shm, "/dev/shm/nccl-", "failed"},
    TroubleWords{LogTrouble::shm, "/dev/shm/nccl-", "No space"},
    TroubleWords{LogTrouble::shm, "posix_fallocate failed", ""},
    TroubleWords{LogTrouble::memory_register, "ibv_reg_mr", "Cannot allocate memory"},
    TroubleWords{LogTrouble::memory_register, "ibv_create", "Cannot allocate memory"},
    TroubleWords{LogTrouble::open_files, "Too many open files", ""},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "No eligible providers"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "not find any optimal provider"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "insert remote address into address vector"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "timed out"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "Unreachable"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "completed with error"},
    TroubleWords{LogTrouble::memory_register, "NET/OFI Unable to register memory",
                 "Cannot allocate memory"},
    TroubleWords{LogTrouble::ofi_memory, "NET/OFI", "Unable to register memory (type = 2)"},
    TroubleWords{LogTrouble::plugin, "Error: network", "not found"},
    TroubleWords{LogTrouble::version, "Mismatched NCCL version", ""},
    TroubleWords{LogTrouble::version, "driver version is insufficient", ""},
    TroubleWords{LogTrouble::gpu_memory, "NCCL WARN", "'out of memory'"},
    TroubleWords{LogTrouble::gpu_broken, "NCCL WARN", "uncorrectable ECC error"},
    TroubleWords{LogTrouble::gpu_broken, "NCCL WARN", "uncorrectable NVLink error"},
    TroubleWords{LogTrouble::gpu_broken, "NCCL WARN", "peer GPU memory over nvlink"},
    TroubleWords{LogTrouble::fabric_manager, "NCCL WARN", "system not yet initialized"},
    TroubleWords{LogTrouble::nvls, "nvls.cc", "WARN"},
    TroubleWords{LogTrouble::nvls, "NVLS", "Failed to"},
    TroubleWords{LogTrouble::imex, "MNNVL", "available but not working"},
    TroubleWords{LogTrouble::imex, "NCCL WARN Cuda failure", "'operation not permitted'"},
    TroubleWords{LogTrouble::no_interface, "o socket interface found", ""},
    TroubleWords{LogTrouble::peer_access, "P2P is disabled between", ""},
    TroubleWords{LogTrouble::peer_access, "peer access is not supported", ""},
    TroubleWords{LogTrouble::hidden_gpu, "transport/p2p.cc", "invalid device ordinal"},
    TroubleWords{LogTrouble::no_id, "ncclUniqueId from [", "got error"},
    TroubleWords{LogTrouble::peer_closed, "onnection closed by remote peer", ""},
    TroubleWords{LogTrouble::connect, "NCCL WARN", " Connect to "},
    TroubleWords{LogTrouble::connect, "NCCL WARN", "exceeded error retry count"},
    TroubleWords{LogTrouble::connect, "NCCL WARN Call to connect", "failed"},
    TroubleWords{LogTrouble::connect, "NCCL WARN Call to connect", "timeout"},
    TroubleWords{LogTrouble::connect, "NCCL WARN", "socketPollConnect"},
};

bool says(View line, TroubleWords const& words) {
    return line.find(words.first) != View::npos && line.find(words.second) != View::npos;
}

/// "from peer node48<37948>": the name of the peer.
void note_peer(NcclLog& log, View line) {
    if (auto const peer = after(line, "from peer ")) keep_name(log.lost_peers, until(*peer, "< "));
}

/// NCCL looks for plug-ins with these names by itself: not finding them is normal.
bool is_default_plugin(View name) {
    constexpr std::array<View, 4> kDefaults{"libnccl-net.so", "libnccl-tuner.so",
                                            "libnccl-profiler.so", "libnccl-env.so"};
    return std::ranges::any_of(kDefaults, [&](View each) {
        return name.starts_with(each) || each.starts_with(until(name, " ."));
    });
}

/// Warnings of healthy runs, and those that only follow another one.
bool is_of_no_use(View warning) {
    for (View const each :
         {"Failed to open libibverbs", "Could not find real path", "Proxy Call to rank",
          "[Proxy Service", "[Service thread]", "Failed to execute operation", "Accept failed",
          "Could not receive type from localRank", "Socket recv failed while polling"}) {
        if (warning.find(each) != View::npos) return true;
    }
    return false;
}

/// A warning that no rule knows is kept: one of each wording.
void note_warning(NcclLog& log, View line) {
    constexpr std::size_t kWarningsMax = 16;
    auto const warning = after(line, "NCCL WARN ");
    if (!warning || is_of_no_use(*warning)) return;
    std::string words(warning->substr(0, kLogLineBytesMax));
    std::erase_if(words, [](char c) { return c >= '0' && c <= '9'; });
    if (trimmed(words).empty() || log.warnings.size() >= kWarningsMax) return;
    log.warnings.emplace(std::move(words), line.substr(0, kLogLineBytesMax));
}

}  // namespace

void read_trouble(NcclLog& log, View line) {
    for (auto const& each : kTroubleWords) {
        if (!says(line, each)) continue;
        if (each.trouble == LogTrouble::retry_exceeded) note_peer(log, line);
        log.troubles.emplace(each.trouble, line.substr(0, kLogLineBytesMax));
        return;
    }
    note_warning(log, line);
    auto const plugin = after(line, "Could not find: ");
    if (!plugin || until(*plugin, " .").empty() || is_default_plugin(*plugin)) return;
    log.troubles.emplace(LogTrouble::plugin, line.substr(0, kLogLineBytesMax));
}

}  // namespace osora::topology::doctor
