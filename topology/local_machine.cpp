// This machine from /proc and the limits of its cgroups (v2, and v1 by controller).
#include "topology/local_machine.hpp"

#include "base/text/text.hpp"
#include "topology/cpu_list.hpp"
#include "topology/text_of.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

/// The rest of the line that starts with `key`, trimmed; empty when there is none.
std::string_view field(std::string_view text, std::string_view key) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t const end = std::min(text.find('\n', at), text.size());
        std::string_view const line = text.substr(at, end - at);
        if (line.starts_with(key)) return trimmed(line.substr(key.size()));
        at = end + 1;
    }
    return {};
}

std::optional<std::int64_t> number(std::string_view text) {
    auto const value = whole_number<std::int64_t>(text);
    return value && *value >= 0 ? value : std::nullopt;
}

/// `path` of a hierarchy mounted at `base`, and every folder above it: each may set a limit.
std::vector<fs::path> folders_down(fs::path base, std::string_view path) {
    std::vector<fs::path> folders{base};
    for (fs::path const& part : fs::path(path).relative_path()) {
        if (part == "..") break;  // outside this cgroup namespace
        base /= part;
        folders.push_back(base);
    }
    return folders;
}

void limit_cores(Node& node, std::optional<int> cores) {
    if (cores) node.cores = std::min(node.cores, *cores);
}

void limit_memory(Node& node, std::optional<std::int64_t> bytes) {
    if (!bytes || *bytes == 0) return;
    if (node.memory_bytes == 0 || *bytes < node.memory_bytes) node.memory_bytes = *bytes;
}

std::optional<std::int64_t> number_in(fs::path const& file) {
    return number(trimmed(text_of(file)));
}

/// cgroup v2: one hierarchy.
void apply_cgroup(Node& node, fs::path const& root, std::string_view path) {
    for (fs::path const& folder : folders_down(root / "sys/fs/cgroup", path)) {
        limit_cores(node, quota_cores(text_of(folder / "cpu.max")));
        limit_memory(node, number_in(folder / "memory.max"));
    }
}

/// cgroup v1: a separate hierarchy for each controller ("4:memory:/slurm/job_7").
void apply_controller(Node& node, fs::path const& root, std::string_view name,
                      std::string_view path) {
    for (fs::path const& folder : folders_down(root / "sys/fs/cgroup" / name, path)) {
        limit_memory(node, number_in(folder / "memory.limit_in_bytes"));
        std::string const quota(trimmed(text_of(folder / "cpu.cfs_quota_us")));
        limit_cores(node, quota_cores(quota + " " + text_of(folder / "cpu.cfs_period_us")));
    }
}

void apply_limits(Node& node, fs::path const& root) {
    std::string const text = text_of(root / "proc/self/cgroup");
    std::string_view left = text;
    while (!left.empty()) {
        std::size_t const end = std::min(left.find('\n'), left.size());
        std::string_view const line = left.substr(0, end);
        left.remove_prefix(std::min(end + 1, left.size()));
        std::size_t const first = line.find(':');
        std::size_t const second = line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        std::string_view const names = line.substr(first + 1, second - first - 1);
        std::string_view const path = line.substr(second + 1);
        if (line.starts_with("0::")) {
            apply_cgroup(node, root, path);
        } else if (!names.starts_with("name=")) {
            apply_controller(node, root, names, path);
        }
    }
}

std::vector<Gpu> nvidia_gpus(fs::path const& root) {
    std::error_code error;
    std::vector<fs::path> folders;
    for (fs::directory_iterator at(root / "proc/driver/nvidia/gpus", error), end;
         !error && at != end; at.increment(error)) {
        folders.push_back(at->path());
    }
    std::ranges::sort(folders);
    std::vector<Gpu> gpus;
    for (fs::path const& folder : folders) {
        std::string const information = text_of(folder / "information");
        gpus.push_back({.name = std::string(field(information, "Model:")), .memory_bytes = 0});
    }
    return gpus;
}

}  // namespace

std::optional<std::int64_t> total_memory_bytes(std::string_view meminfo) {
    std::string_view value = field(meminfo, "MemTotal:");
    if (!value.ends_with(" kB")) return {};
    value.remove_suffix(3);
    auto const kib = number(trimmed(value));
    if (!kib || *kib > (std::int64_t{1} << 50)) return {};
    return *kib * 1024;
}

std::optional<int> quota_cores(std::string_view cpu_max) {
    cpu_max = trimmed(cpu_max);
    std::size_t const space = cpu_max.find(' ');
    if (space == std::string_view::npos) return {};
    auto const quota = number(cpu_max.substr(0, space));  // "max" is no limit
    auto const period = number(trimmed(cpu_max.substr(space)));
    if (!quota || !period || *period == 0) return {};
    return static_cast<int>(std::clamp<std::int64_t>(*quota / *period, 1, 1 << 16));
}

void add_driver_facts(Machine const& machine, Node& node) {
    if (machine.gpus.size() != node.gpus.size()) return;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        Gpu& gpu = node.gpus[i];
        if (gpu.name.empty()) gpu.name = machine.gpus[i].name;
        if (machine.gpus[i].memory_bytes > 0) gpu.memory_bytes = machine.gpus[i].memory_bytes;
    }
}

Node read_local_machine(fs::path const& root) {
    Node node;
    node.name = std::string(trimmed(text_of(root / "proc/sys/kernel/hostname")));
    std::string const status = text_of(root / "proc/self/status");
    auto const cpus = parse_cpu_list(field(status, "Cpus_allowed_list:"));
    node.cores = std::max(cpus ? static_cast<int>(cpus->size()) : 1, 1);
    node.memory_bytes = total_memory_bytes(text_of(root / "proc/meminfo")).value_or(0);
    apply_limits(node, root);
    node.gpus = nvidia_gpus(root);
    return node;
}

}  // namespace osora::topology
