// Identifiers: run uuids, tokens, and the identity of a process on a host.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace osora {

/// A random (version 4) uuid, "8-4-4-4-12" in lower case.
[[nodiscard]] std::string make_uuid();

/// 256 random bits as 64 hex digits (docs/rfc/002: the run token).
[[nodiscard]] std::string make_token();

/// 64 random bits as 16 hex digits, for names that nobody can guess.
[[nodiscard]] std::string make_suffix();

/// Compares in time that depends on the lengths only.
[[nodiscard]] bool equal_constant_time(std::string_view a, std::string_view b);

/// A pid may be reused; with its start time and the boot id it identifies one process for ever.
struct ProcessId {
    int pid = 0;
    std::int64_t start_ticks = 0;  // field 22 of /proc/PID/stat, since boot
    friend bool operator==(ProcessId const&, ProcessId const&) = default;
};

/// Identity of a living process; not_found when there is none (or it is a zombie).
[[nodiscard]] Result<ProcessId> process_id_of(int pid);

/// Whether exactly this process lives (a zombie does not).
[[nodiscard]] bool is_alive(ProcessId const& process);

/// /proc/sys/kernel/random/boot_id; empty when it cannot be read.
[[nodiscard]] std::string boot_id();

}  // namespace osora
