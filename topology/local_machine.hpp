// This machine as a Node, from the files under a root directory ("/" in programs, a recorded tree
// in tests). What cannot be read gets a safe value: one core, unknown memory, no GPU.
#pragma once

#include "topology/cluster.hpp"
#include "topology/machine.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace osora::topology {

/// "MemTotal:  24678412 kB" of /proc/meminfo in bytes.
[[nodiscard]] std::optional<std::int64_t> total_memory_bytes(std::string_view meminfo);
/// Whole cores of a cgroup v2 cpu.max, "150000 100000" -> 1 (at least 1); nullopt: no limit.
[[nodiscard]] std::optional<int> quota_cores(std::string_view cpu_max);
/// Adds what the drivers report of the node's GPUs, which both list by PCI address: memory, and
/// names that the files lack. Nothing when they count different GPUs. Pure.
void add_driver_facts(Machine const& machine, Node& node);
/// Reads proc/self/status (Cpus_allowed_list), proc/meminfo, the limits of the process's cgroups
/// and of those above, proc/sys/kernel/hostname and proc/driver/nvidia/gpus/*/information.
[[nodiscard]] Node read_local_machine(std::filesystem::path const& root = "/");

}  // namespace osora::topology
