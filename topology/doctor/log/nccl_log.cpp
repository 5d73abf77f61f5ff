#include "base/text/text.hpp"
#include "topology/doctor/log/last_error.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"
#include "topology/doctor/versions.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

/// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
void read_channel(NcclLog& log, View via) {
    if (via.starts_with("P2P")) {
        ++log.via_p2p;
    } else if (via.starts_with("SHM") || via.starts_with("direct shared memory")) {
        ++log.via_shm;
    } else if (via.starts_with("NET/Socket") || via.starts_with("NET/FastSocket")) {
        ++log.via_socket;
    } else if (via.starts_with("NET/")) {
        ++log.via_ib;
        if (via.find("GDRDMA") != View::npos) ++log.via_gdr;
        View const rest = via.substr(4);
        std::size_t const slash = rest.find('/');
        if (slash == View::npos || log.nics_used.size() >= kLogNamesMax) return;
        if (auto const nic = leading_number<int>(rest.substr(slash + 1)))
            log.nics_used.insert(*nic);
    }
}

/// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]": the text after each number.
template <class Take>
void each_listed(View list, Take const& take) {
    for (std::size_t at = list.find('['); at != View::npos; at = list.find('[')) {
        list.remove_prefix(at + 1);
        auto const number = leading_number<int>(list);
        std::size_t const close = list.find(']');
        if (close == View::npos) return;
        list.remove_prefix(close + 1);
        if (number) take(list);
    }
}

/// "eth0:10.0.0.5<0>", "veth1:fe80::1%veth1<0>"; returns the name.
View read_interface(NcclLog& log, View text) {
    View const name = until(text, ":< ");
    bool const has_colon = text.size() > name.size() && text[name.size()] == ':';
    if (!has_colon || name.empty() || log.addresses.size() >= kLogNamesMax) return name;
    View const address = until(text.substr(name.size() + 1), "<% ");
    if (name.size() <= 64) log.addresses.emplace(name, address.substr(0, 64));
    return name;
}

/// "eth0:10.0.0.1<0>", before 2.9 "[0]ens5:10.0.0.1<0> [1]veth1:fe80::1%veth1<0>".
void read_bootstrap(NcclLog& log, View text) {
    std::vector<View> names;
    if (text.starts_with('[')) {
        each_listed(text, [&](View each) { names.push_back(read_interface(log, each)); });
    } else {
        names.push_back(read_interface(log, text));
    }
    for (View const each : names) keep_name(log.socket_interfaces, each);
    if (names.empty() || names.front().size() > 64) return;
    log.bootstrap_interface = names.front();
}

void read_sockets(NcclLog& log, View line) {
    for (View const key : {"Bootstrap : Using ", "Bootstrap: Using "}) {
        if (auto const rest = after(line, key)) read_bootstrap(log, *rest);
    }
    if (auto const list = after(line, "NET/Socket : Using [")) {
        View const all = line.substr(line.size() - list->size() - 1);
        each_listed(
            all, [&](View each) { keep_name(log.socket_interfaces, read_interface(log, each)); });
    }
    // The network on which InfiniBand connections are set up; 2.3 had another message.
    for (View const key : {"OOB ", "NET : Using interface "}) {
        if (auto const rest = after(line, key)) {
            keep_name(log.socket_interfaces, read_interface(log, *rest));
        }
    }
}

void read_network(NcclLog& log, View line) {
    if (auto const name = after(line, "Using network ")) keep_name(log.networks, trimmed(*name));
    if (auto const name = after(line, "Assigned NET plugin ")) {
        keep_name(log.networks, name->substr(0, name->find(" to comm")));
    }
    if (auto const name = after(line, "Loaded net plugin ")) keep_name(log.plugins, trimmed(*name));
    read_sockets(log, line);
    if (auto const list = after(line, "NET/IB : Using ")) {
        each_listed(until(*list, ";"),
                    [&](View each) { keep_name(log.rdma_devices, until(each, "/ ")); });
    }
    if (line.find("NET/IB : No device found") != View::npos) log.no_ib_device = true;
    if (auto const rest = after(line, "GPU Direct RDMA Disabled for ")) {
        // TCP never has it: "NET/FastSocket : GPU Direct RDMA Disabled for HCA 0 'eth0'".
        bool const tcp = line.find("Socket : GPU Direct RDMA") != View::npos;
        if (rest->starts_with("HCA") && !tcp) log.gdr_disabled_for_hca = true;
        if (auto const distance = after(*rest, "(distance ");
            distance && log.gdr_distance.empty()) {
            log.gdr_distance = "distance " + std::string(until(*distance, ")").substr(0, 32));
        }
    }
}

/// "Call to connect returned Connection refused, retrying"; since 2.24 "socketPollConnect: connect
/// to 10.0.0.2<45763> returned Connection timed out, retrying (1/34) after sleep for 100 msec".
void read_retry(NcclLog& log, View line) {
    bool const retries = line.find("onnect") != View::npos &&
                         line.find(" returned ") != View::npos &&
                         line.find(", retrying") != View::npos;
    if (retries && log.connect_retry.empty()) log.connect_retry = line.substr(0, kLogLineBytesMax);
}

/// "comm 0x1 rank 3 nranks 16": which ranks a log is of.
void read_member(NcclLog& log, View line) {
    constexpr std::size_t kMembersMax = 1024;
    auto const rest = after(line, " rank ");
    auto const rank = rest ? leading_number<int>(*rest) : std::nullopt;
    if (!rank || *rank < 0) return;
    for (View const key : {" nranks ", " nRanks "}) {
        auto const text = after(line, key);
        auto const size = text ? leading_number<int>(*text) : std::nullopt;
        if (!size || *size <= *rank) continue;
        if (log.members.size() >= kLogNamesMax && !log.members.contains(*size)) continue;
        auto& ranks = log.members[*size];
        if (ranks.size() < kMembersMax) ranks.insert(*rank);
    }
}

/// "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8": of communicators; nodes are logged since
/// 2.20.
void read_size(NcclLog& log, View line) {
    auto const most = [&](int& into, View key) {
        auto const rest = after(line, key);
        auto const number = rest ? leading_number<int>(*rest) : std::nullopt;
        if (number && *number > 0) into = std::max(into, *number);
    };
    if (line.find("comm ") == View::npos) return;
    most(log.nodes, " nNodes ");
    most(log.ranks, " nRanks ");
    most(log.ranks, " nranks ");
    log.complete = log.complete || line.find("Init COMPLETE") != View::npos;
    read_member(log, line);
}

void read_features(NcclLog& log, View line) {
    if (auto const rest = after(line, "NVLS multicast support is ")) {
        ++(rest->starts_with("not") ? log.nvls_missing : log.nvls_available);
    }
    if (auto const rest = after(line, "MNNVL busId")) {
        auto const state = after(*rest, " state ");
        auto const number = state ? leading_number<int>(*state) : std::nullopt;
        if (number && log.mnnvl_states.size() < kLogNamesMax) log.mnnvl_states.insert(*number);
    }
    if (std::size_t const at = line.find(" set by environment to "); at != View::npos) {
        View const head = line.substr(0, at);
        View const name = head.substr(head.find_last_of(' ') + 1);
        View value = line.substr(at + View(" set by environment to ").size());
        if (value.ends_with('.')) value.remove_suffix(1);
        if (name.starts_with("NCCL_") && log.set_by_environment.size() < kLogNamesMax) {
            log.set_by_environment[std::string(name.substr(0, 64))] =
                std::string(value.substr(0, kLogLineBytesMax));
        }
    }
}

/// "RCCL version 2.20.5+hip6.2 HEAD:d380693+", since ROCm 6.3 "RCCL version : 2.21.5-HEAD:9a0e6a1".
void read_rccl(NcclLog& log, View line) {
    auto text = after(line, "RCCL version ");
    if (!text) return;
    if (text->starts_with(": ")) text->remove_prefix(2);
    View const version = text->substr(0, text->find_first_not_of("0123456789."));
    if (std::ranges::count(version, '.') == 2) keep_name(log.rccl, version);
}

void read_line(NcclLog& log, View line) {
    ++log.lines;
    if (auto const rest = after(line, "NCCL version ")) {
        View const version = until(*rest, " \r");
        auto const parsed = nccl_version(version);
        // "2.18" is the version that a program was built for, not the running one.
        if (std::ranges::count(parsed, '.') == 2) keep_name(log.versions, parsed);
        if (auto const cuda = after(version, "+cuda")) log.cuda = std::string(cuda->substr(0, 16));
    }
    read_rccl(log, line);
    read_retry(log, line);
    if (auto const via = after(line, " via ")) read_channel(log, *via);
    read_network(log, line);
    read_size(log, line);
    read_features(log, line);
    read_trouble(log, line);
    bool const fails = line.find("NCCL error in: ") != View::npos;
    if (fails && log.exception.empty()) log.exception = line.substr(0, kLogLineBytesMax);
    read_watchdog(log.watchdogs, line);
}

}  // namespace

void add_nccl_log(NcclLog& log, View text) {
    std::string const rewritten = with_last_errors(text);
    if (!rewritten.empty()) text = rewritten;
    each_line(text, [&](View line) {
        if (!is_of_nccl(line)) return;
        read_line(log, without_colours(line));
    });
}

}  // namespace osora::topology::doctor
