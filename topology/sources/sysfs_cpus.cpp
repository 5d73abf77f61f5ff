// CPUs, NUMA nodes and memory.
#include "base/files/files.hpp"
#include "base/text/text.hpp"
#include "topology/cpu_list.hpp"
#include "topology/local_machine.hpp"
#include "topology/sources/sysfs_internal.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace osora::topology::sysfs {
namespace {

constexpr long long kSocketsMax = 1024, kCoresMax = 1 << 16;

std::optional<long long> number(std::string_view text) {
    long long value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
    return value;
}

/// One hardware thread in /proc/cpuinfo.
struct Thread {
    long long socket = 0, core = -1, cores_of_socket = 0;
};

struct Cpus {
    std::string vendor, model, arch;
    std::set<long long> sockets;
    std::set<std::pair<long long, long long>> cores;  // socket, core
    std::map<long long, long long> cores_listed;      // "cpu cores", by socket
    long long threads = 0;
};

void add_thread(Cpus& cpus, Thread const& thread) {
    ++cpus.threads;
    cpus.sockets.insert(thread.socket);
    if (thread.core >= 0) cpus.cores.emplace(thread.socket, thread.core);
    cpus.cores_listed[thread.socket] =
        std::max(cpus.cores_listed[thread.socket], thread.cores_of_socket);
}

void read_line(Cpus& cpus, Thread& thread, std::string_view key, std::string_view value) {
    if (key == "vendor_id" && cpus.vendor.empty()) cpus.vendor = std::string(value);
    if (key == "model name" && cpus.model.empty()) cpus.model = std::string(value);
    if (key == "CPU implementer") cpus.vendor = "ARM", cpus.arch = "arm64";
    if (key == "cpu" && value.starts_with("POWER")) {
        cpus.arch = "ppc64", cpus.vendor = "IBM", cpus.model = std::string(value);
    }
    auto const parsed = number(value).value_or(-1);
    if (key == "physical id" && parsed >= 0 && parsed < kSocketsMax) thread.socket = parsed;
    if (key == "core id" && parsed < kCoresMax) thread.core = parsed;
    if (key == "cpu cores" && parsed > 0 && parsed < kCoresMax) thread.cores_of_socket = parsed;
}

Cpus parse_cpuinfo(std::string_view text) {
    Cpus cpus;
    Thread thread;
    bool any = false;
    while (!text.empty()) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        std::string_view const line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        auto const colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        std::string_view const key = trimmed(line.substr(0, colon));
        if (key == "processor") {
            if (any) add_thread(cpus, thread);
            thread = {};
            any = true;
        }
        read_line(cpus, thread, key, trimmed(line.substr(colon + 1)));
    }
    if (any) add_thread(cpus, thread);
    bool const x86 = cpus.vendor == "GenuineIntel" || cpus.vendor == "AuthenticAMD";
    if (x86) cpus.arch = "x86_64";
    return cpus;
}

/// Number of cores: those that are named, or what each socket says it has, whichever is more;
/// threads if neither is given.
long long cores_of(Cpus const& cpus) {
    long long listed = 0;
    for (auto const& [socket, count] : cpus.cores_listed) listed += count;
    auto const named = static_cast<long long>(cpus.cores.size());
    long long const cores = std::max(listed, named);
    return cores > 0 ? cores : cpus.threads;
}

NumaNode numa_node(fs::path const& folder, int id) {
    NumaNode node;
    node.id = id;
    std::string const list = text_in(folder / "cpulist");
    if (auto const cpus = parse_cpu_list(list)) node.cpus = format_cpu_list(*cpus);
    std::string const prefix = "Node " + std::to_string(id) + " ";
    std::string const meminfo = text_in(folder / "meminfo");
    std::string const total(line_value(meminfo, prefix + "MemTotal:"));
    node.memory_bytes = total_memory_bytes("MemTotal: " + total).value_or(0);
    return node;
}

}  // namespace

void read_cpus(fs::path const& root, Machine& machine) {
    // This file of a large machine is larger than other files here.
    constexpr std::int64_t kCpuinfoBytesMax = 16 << 20;
    auto const cpuinfo = read_file(root / "proc/cpuinfo", kCpuinfoBytesMax);
    Cpus const cpus = parse_cpuinfo(cpuinfo.has_value() ? *cpuinfo : std::string());
    machine.cpu_vendor = cpus.vendor;
    machine.cpu_model = cpus.model;
    machine.cpu_arch = cpus.arch;
    machine.sockets = static_cast<int>(cpus.sockets.size());
    machine.cores = static_cast<int>(std::min(cores_of(cpus), kCoresMax));
    machine.memory_bytes = total_memory_bytes(text_in(root / "proc/meminfo") + "\n").value_or(0);
    fs::path const nodes = root / "sys/devices/system/node";
    for (std::string const& name : names_in(nodes)) {
        if (!name.starts_with("node")) continue;
        auto const id = number(std::string_view(name).substr(4));
        if (id && *id < 4096) {
            machine.numa.push_back(numa_node(nodes / name, static_cast<int>(*id)));
        }
    }
}

}  // namespace osora::topology::sysfs
