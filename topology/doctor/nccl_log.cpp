#include "topology/doctor/nccl_log.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

constexpr std::size_t kKept = 64;  // names of each kind: a log may be hostile
constexpr std::size_t kLineBytesKept = 200;

/// What follows `key` in the line; nullopt when it is not there.
std::optional<View> after(View line, View key) {
    std::size_t const at = line.find(key);
    if (at == View::npos) return {};
    return line.substr(at + key.size());
}

View until(View text, View stops) {
    return text.substr(0, text.find_first_of(stops));
}

void keep(std::set<std::string>& into, View value) {
    if (!value.empty() && value.size() <= 64 && into.size() < kKept) into.emplace(value);
}

struct TroubleWords {
    LogTrouble trouble;
    View first, second;  // both stand in the line; second may be empty
};

constexpr std::array kTroubleWords{
    TroubleWords{LogTrouble::bad_gid, "ibv_modify_qp failed", "No data available"},
    TroubleWords{LogTrouble::bad_gid, "ibv_modify_qp failed", "Invalid argument"},
    TroubleWords{LogTrouble::modify_qp, "ibv_modify_qp failed", ""},
    TroubleWords{LogTrouble::retry_exceeded, "Got completion", "status=12"},
    TroubleWords{LogTrouble::retry_exceeded, "Got completion", "RETRY_EXC_ERR"},
    TroubleWords{LogTrouble::retry_exceeded, "Got completion", "error 12,"},
    TroubleWords{LogTrouble::port_event, "async event", "port error"},
    TroubleWords{LogTrouble::shm, "shared memory segment", "rror"},
    TroubleWords{LogTrouble::shm, "/dev/shm/nccl-", "failed"},
    TroubleWords{LogTrouble::shm, "/dev/shm/nccl-", "No space"},
    TroubleWords{LogTrouble::memory_register, "ibv_reg_mr", "Cannot allocate memory"},
    TroubleWords{LogTrouble::memory_register, "ibv_create", "Cannot allocate memory"},
    TroubleWords{LogTrouble::open_files, "Too many open files", ""},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "No eligible providers"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "timed out"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "Unreachable"},
    TroubleWords{LogTrouble::ofi, "NET/OFI", "completed with error"},
    TroubleWords{LogTrouble::plugin, "Error: network", "not found"},
    TroubleWords{LogTrouble::version, "Mismatched NCCL version", ""},
    TroubleWords{LogTrouble::version, "driver version is insufficient", ""},
    TroubleWords{LogTrouble::nvls, "nvls.cc", "WARN"},
    TroubleWords{LogTrouble::nvls, "NVLS", "Failed to"},
    TroubleWords{LogTrouble::no_interface, "o socket interface found", ""},
    TroubleWords{LogTrouble::peer_access, "P2P is disabled between", ""},
    TroubleWords{LogTrouble::peer_access, "peer access is not supported", ""},
};

void read_trouble(NcclLog& log, View line) {
    for (auto const& each : kTroubleWords) {
        if (line.find(each.first) == View::npos) continue;
        if (!each.second.empty() && line.find(each.second) == View::npos) continue;
        log.troubles.emplace(each.trouble, line.substr(0, kLineBytesKept));
        return;
    }
    // NCCL looks for plug-ins of these names by itself: not to find them is as it should be.
    constexpr std::array<View, 4> kDefaults{"libnccl-net.so", "libnccl-tuner.so",
                                            "libnccl-profiler.so", "libnccl-env.so"};
    if (auto const rest = after(line, "Could not find: ")) {
        View const name = until(*rest, " .");
        bool const usual = std::ranges::any_of(kDefaults, [&](View each) {
            return rest->starts_with(each) || each.starts_with(name);
        });
        if (!usual && !name.empty()) {
            log.troubles.emplace(LogTrouble::plugin, line.substr(0, kLineBytesKept));
        }
    }
}

/// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
void read_channel(NcclLog& log, View via) {
    if (via.starts_with("P2P")) {
        ++log.via_p2p;
    } else if (via.starts_with("SHM")) {
        ++log.via_shm;
    } else if (via.starts_with("NET/Socket")) {
        ++log.via_socket;
    } else if (via.starts_with("NET/")) {
        ++log.via_ib;
        if (via.find("GDRDMA") != View::npos) ++log.via_gdr;
        View const rest = via.substr(4);
        std::size_t const slash = rest.find('/');
        if (slash == View::npos || log.nics_used.size() >= kKept) return;
        if (auto const nic = leading_number<int>(rest.substr(slash + 1)))
            log.nics_used.insert(*nic);
    }
}

/// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.5<0>": the names behind the numbers.
void read_device_list(std::set<std::string>& into, View list, View stops) {
    list = until(list, ";");
    for (std::size_t at = list.find('['); at != View::npos; at = list.find('[')) {
        list.remove_prefix(at + 1);
        auto const number = leading_number<int>(list);
        std::size_t const close = list.find(']');
        if (close == View::npos) return;
        list.remove_prefix(close + 1);
        if (number) keep(into, until(list, stops));
    }
}

void read_network(NcclLog& log, View line) {
    if (auto const name = after(line, "Using network ")) keep(log.networks, until(*name, "\r"));
    if (auto const rest = after(line, "Bootstrap : Using ")) {
        log.bootstrap_interface = until(*rest, ": \r");
    } else if (auto const newer = after(line, "Bootstrap: Using ")) {
        log.bootstrap_interface = until(*newer, ": \r");
    }
    if (auto const list = after(line, "NET/Socket : Using ")) {
        read_device_list(log.socket_interfaces, *list, ":<\r");
    }
    if (auto const list = after(line, "NET/IB : Using ")) {
        read_device_list(log.rdma_devices, *list, "/ \r");
    }
    if (line.find("NET/IB : No device found") != View::npos) log.no_ib_device = true;
    if (auto const rest = after(line, "GPU Direct RDMA Disabled for ")) {
        if (rest->starts_with("HCA")) log.gdr_disabled_for_hca = true;
        if (auto const distance = after(*rest, "(distance ");
            distance && log.gdr_distance.empty()) {
            log.gdr_distance = "distance " + std::string(until(*distance, ")").substr(0, 32));
        }
    }
}

void read_features(NcclLog& log, View line) {
    if (auto const rest = after(line, "NVLS multicast support is ")) {
        ++(rest->starts_with("not") ? log.nvls_missing : log.nvls_available);
    }
    if (auto const rest = after(line, "MNNVL busId")) {
        auto const state = after(*rest, " state ");
        auto const number = state ? leading_number<int>(*state) : std::nullopt;
        if (number && log.mnnvl_states.size() < kKept) log.mnnvl_states.insert(*number);
    }
    if (std::size_t const at = line.find(" set by environment to "); at != View::npos) {
        View const head = line.substr(0, at);
        View const name = head.substr(head.find_last_of(' ') + 1);
        View value = until(line.substr(at + View(" set by environment to ").size()), "\r");
        if (value.ends_with('.')) value.remove_suffix(1);
        if (name.starts_with("NCCL_") && log.set_by_environment.size() < kKept) {
            log.set_by_environment[std::string(name.substr(0, 64))] =
                std::string(value.substr(0, kLineBytesKept));
        }
    }
}

void read_line(NcclLog& log, View line) {
    if (line.find("NCCL") == View::npos && line.find("NET/OFI") == View::npos) return;
    ++log.lines;
    if (auto const rest = after(line, "NCCL version ")) {
        View const version = until(*rest, " \r");
        keep(log.versions, until(version, "+"));
        if (auto const cuda = after(version, "+cuda")) log.cuda = std::string(cuda->substr(0, 16));
    }
    if (auto const via = after(line, " via ")) read_channel(log, *via);
    read_network(log, line);
    read_features(log, line);
    read_trouble(log, line);
}

/// "n3" of "n3:4711:4720 [0] NCCL INFO ...", also behind a launcher's "[1,0]<stdout>:".
View host_of(View line) {
    if (line.starts_with('[')) {
        std::size_t const close = line.find(">:");
        if (close != View::npos && close < 32) line.remove_prefix(close + 2);
    }
    std::size_t const colon = line.find(':');
    if (colon == View::npos || colon == 0 || colon > 128) return {};
    View const host = line.substr(0, colon);
    bool const plain = host.find_first_of(" \t[]/<>") == View::npos;
    return plain && leading_number<int>(line.substr(colon + 1)) ? host : View();
}

}  // namespace

void add_nccl_log(NcclLog& log, View text) {
    each_line(text, [&](View line) { read_line(log, line); });
}

std::map<std::string, std::string> split_by_host(View text) {
    constexpr std::size_t kHostsMax = 1 << 16;
    std::map<std::string, std::string> parts;
    each_line(text, [&](View line) {
        if (line.find("NCCL") == View::npos && line.find("NET/OFI") == View::npos) return;
        std::string const host(host_of(line));
        if (parts.size() >= kHostsMax && !parts.contains(host)) return;
        parts[host].append(line) += '\n';
    });
    return parts;
}

}  // namespace osora::topology::doctor
