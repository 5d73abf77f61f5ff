// Catalogue rows of PyTorch's NCCL group (torch_nccl_environment_variables in its documentation)
// and of Gloo. Versions do not apply to them.
#include "topology/nccl/nccl_catalogue_rows.hpp"

namespace osora::topology::rows {
namespace {

constexpr std::array kOtherRows{
    NcclVariable{"GLOO_SOCKET_IFNAME", P, kNode, kind(ValueKind::names), "the host name's",
                 "which interfaces CPU ranks meet over: exact names, no '='"},
    NcclVariable{"TP_SOCKET_IFNAME", P, kNode, kind(ValueKind::names), "the host name's",
                 "the same for PyTorch's RPC"},
    NcclVariable{"TORCH_NCCL_ASYNC_ERROR_HANDLING", S, kJob, in(0, 3), "3",
                 "0 hangs on a fault, 1 aborts and ends, 2 aborts, 3 ends"},
    NcclVariable{"TORCH_NCCL_BLOCKING_WAIT", B, kJob, flag(), "0",
                 "the host waits for every collective: overlap is lost"},
    NcclVariable{"NCCL_BLOCKING_WAIT",
                 B,
                 kJob,
                 flag(),
                 "0",
                 "the old name",
                 {.instead = "TORCH_NCCL_BLOCKING_WAIT"}},
    NcclVariable{"NCCL_ASYNC_ERROR_HANDLING",
                 S,
                 kJob,
                 in(0, 3),
                 "",
                 "the old name",
                 {.instead = "TORCH_NCCL_ASYNC_ERROR_HANDLING"}},
    NcclVariable{"NCCL_DESYNC_DEBUG",
                 B,
                 kJob,
                 flag(),
                 "",
                 "the old name",
                 {.instead = "TORCH_NCCL_DESYNC_DEBUG"}},
    NcclVariable{"TORCH_NCCL_HIGH_PRIORITY", J, kJob, flag(), "0",
                 "collectives on a stream of high priority"},
    NcclVariable{"TORCH_NCCL_ENABLE_TIMING", B, kJob, flag(), "0",
                 "an event at each start: costs a little"},
    NcclVariable{"TORCH_NCCL_DESYNC_DEBUG", B, kJob, flag(), "0",
                 "writes to the store at every collective"},
    NcclVariable{"TORCH_NCCL_DUMP_ON_TIMEOUT", S, kJob, flag(), "0",
                 "the flight recorder on a hang; osora sets it"},
    NcclVariable{"TORCH_NCCL_TRACE_BUFFER_SIZE",
                 S,
                 kJob,
                 in(0, kNoLimit),
                 "2000",
                 "collectives that the flight recorder keeps (old name)",
                 {.instead = "TORCH_FR_BUFFER_SIZE"}},
    NcclVariable{"TORCH_FR_BUFFER_SIZE", S, kJob, in(0, kNoLimit), "2000",
                 "collectives that the flight recorder keeps; osora sets it"},
    NcclVariable{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", S, kRank, text(), "",
                 "where the flight recorder goes; osora sets it"},
    NcclVariable{"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", S, kRank, text(), "",
                 "asks for the flight recorder; osora sets it"},
    NcclVariable{"TORCH_NCCL_ENABLE_MONITORING", S, kJob, flag(), "1",
                 "ends a process whose watchdog hangs"},
    NcclVariable{"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", S, kJob, in(1, kNoLimit), "480",
                 "of that monitor"},
    NcclVariable{"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", S, kJob, in(0, kNoLimit), "15000",
                 "how long a dump may take"},
    NcclVariable{"TORCH_NCCL_COORD_CHECK_MILSEC", S, kJob, in(1, kNoLimit), "1000",
                 "how often ranks look for a dump"},
    NcclVariable{"TORCH_NCCL_AVOID_RECORD_STREAMS", J, kJob, flag(), "0",
                 "memory of tensors in flight is freed earlier"},
    NcclVariable{"TORCH_NCCL_USE_COMM_NONBLOCKING", B, kJob, flag(), "0",
                 "communicators that do not wait"},
};

}  // namespace

std::span<NcclVariable const> other_rows() {
    return kOtherRows;
}

}  // namespace osora::topology::rows
