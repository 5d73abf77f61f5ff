// The evidence for the doctor: facts of the nodes, a probe, a run, logs, settings. Value types,
// filled by collect.hpp and by `osora doctor`. 0, "" and kNotKnown mean unknown: a rule that needs
// an unknown fact is skipped, never guessed.
#pragma once

#include "topology/doctor/log/nccl_log.hpp"
#include "topology/machine.hpp"
#include "topology/nccl/inherited_setting.hpp"
#include "topology/probe_result.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace osora::topology::doctor {

constexpr std::int64_t kNotKnown = -2, kUnlimited = -1;  // for limits

/// A counter of an RDMA port, with its name in sysfs. Two readings show what happens now; a single
/// one counts since the driver was loaded.
struct PortCounter {
    std::string device;  // "mlx5_3"
    std::string name;    // "link_downed"
    std::int64_t value = 0;
    std::optional<std::int64_t> before = {};
};

/// Health of a GPU; NaN: unknown.
struct GpuState {
    int gpu = 0;  // -1: unknown, `address` identifies it
    double temperature_c = std::numeric_limits<double>::quiet_NaN();
    double sm_mhz = std::numeric_limits<double>::quiet_NaN();
    double utilisation = std::numeric_limits<double>::quiet_NaN();  // [0, 1]
    std::int64_t throttle_reasons = 0;                              // NVML's bits
    std::int64_t ecc_uncorrected = 0;
    std::vector<int> xids = {};
    std::string address = {};          // "0000:3b:00", for a GPU that is in no list of the node
    std::string recovery_action = {};  // of nvidia-smi -q: "Reset"; "" = none, or not known
    bool remap_failed = false;         // a memory row could not be replaced
    std::string fatal_event = {};      // the first in the kernel's log that the driver calls fatal
};

/// How an IOMMU treats the GPUs' transfers.
enum class Iommu { not_known, off, passthrough, translated };

struct NodeEvidence {
    std::string name;
    std::optional<Machine> machine;
    bool is_virtual = false;                       // runs under a hypervisor
    bool virtual_topology = false;                 // NCCL finds /var/run/nvidia-topologyd's file
    std::optional<std::set<std::string>> modules;  // of the kernel, that are loaded
    bool memory_peers = false;                     // /sys/kernel/mm/memory_peers/nv_mem
    bool open_driver = false;                      // NVIDIA's open kernel modules: dma-buf works
    std::optional<bool> has_uverbs;                // /dev/infiniband/uverbs*
    std::optional<bool> has_imex_channels;         // /dev/nvidia-caps-imex-channels/*
    Iommu iommu = Iommu::not_known;
    std::string iommu_seen;                  // the source: "intel_iommu=on"
    std::int64_t memlock_bytes = kNotKnown;  // limits of a process; hard ones
    std::int64_t open_files = kNotKnown;
    std::int64_t shm_bytes = 0;                   // size of /dev/shm
    std::string cpus_allowed;                     // "0-31"
    double cpu_quota_cores = 0;                   // of its cgroup; 0 = none
    std::map<std::string, std::string> versions;  // by kVersion... of versions.hpp
    std::vector<InheritedSetting> settings;
    std::vector<std::string> missing_files;  // names of settings that name a missing file
    std::vector<PortCounter> counters;
    std::map<std::string, int> traffic_class;  // forced on an RDMA device, by device name
    NcclLog log;                               // lines = 0: there is none
    std::vector<GpuState> gpus;
    std::vector<std::string> nvswitch_faults;  // fatal SXids of the kernel's log
    std::string fabric_state;                  // of nvidia-smi -q: "Completed", "In Progress"
    std::map<int, std::string> rank_cpus;      // CPUs that ranks are bound to, by rank
};

/// Facts of a run.
struct RunEvidence {
    int nodes = 0, ranks = 0;
    std::map<std::string, std::string> own_settings;  // from its [nccl]: intended, not inherited
    std::string collectives;                          // debug.collectives
    double grad_bucket_mib = 0;                       // 0: not known
    double step_s = 0;                                // median
    double exposed_comm_share = 0;                    // of the step
    int late_rank = -1;                               // arrives last at the collectives
    std::string late_node;
    double late_share = 0;  // share of the step that the others wait for it
    int late_steps = 0, of_steps = 0;
    double data_wait_share = 0;  // of the step
};

/// From `scontrol show config`.
struct SlurmEvidence {
    int cred_expire_s = 120;  // a requeued job waits this long plus a second before it starts again
    bool job_requeue = true;
};

struct Evidence {
    std::vector<NodeEvidence> nodes;
    std::optional<ProbeResult> probe;
    std::optional<RunEvidence> run;
    std::optional<SlurmEvidence> slurm;
    /// Versions of earlier runs that succeeded.
    std::vector<std::map<std::string, std::string>> proven;
};

}  // namespace osora::topology::doctor
