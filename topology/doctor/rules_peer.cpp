// Rules about GPUs of a node and their health: rows 24, 25, 26, throttling and clocks.
#include "topology/doctor/rules_internal.hpp"

#include "base/robust.hpp"
#include "topology/xid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace osora::topology::doctor {
namespace {

bool several_gpus(NodeEvidence const& node) {
    return has_gpus(node) && node.machine->gpus.size() > 1;
}

bool any_several(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes, several_gpus);
}

bool has_nvlink(NodeEvidence const& node) {
    if (!has_gpus(node)) return false;
    return node.machine->nvswitch || std::ranges::any_of(node.machine->gpus, [](auto const& gpu) {
               return !gpu.nvlinks.empty();
           });
}

bool may_nvls(NodeEvidence const& node) {
    return several_gpus(node) && node.machine->nvswitch &&
           std::ranges::all_of(node.machine->gpus,
                               [](auto const& gpu) { return gpu.compute_capability >= 90; });
}

}  // namespace

Outcome check_peer_access(Evidence const& evidence) {
    if (!any_several(evidence) && !any_log(evidence)) return skip("no node with several GPUs");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        bool const through_memory =
            has_nvlink(node) && node.log.via_shm > 0 && node.log.via_p2p == 0;
        if (!through_memory) continue;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = "GPUs talk through host memory although NVLink joins them",
             .seen = fmt::format("log: {} channels via SHM, none via P2P", node.log.via_shm),
             .effect = "collectives inside the node at a tenth of NVLink's speed",
             .fix = "look for NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; nvidia-smi topo -p2p n; give "
                    "each rank all GPUs of its node (CUDA_VISIBLE_DEVICES, --gpus-per-task)",
             .impact = 0.9});
    }
    find_trouble(
        outcome, evidence, LogTrouble::peer_access,
        {.severity = Severity::fault,
         .title = "P2P between GPUs does not work",
         .effect = "hang, or transfers through host memory",
         .fix = "prove it with NCCL_P2P_DISABLE=1 for one run, then turn ACS and IOMMU off",
         .impact = 0.8});
    find_trouble(outcome, evidence, LogTrouble::hidden_gpu,
                 {.severity = Severity::fault,
                  .title = "A rank cannot see the GPU of a peer on its node",
                  .effect = "the run fails when ranks connect their GPUs",
                  .fix = "give each rank all GPUs of its node and choose by LOCAL_RANK: in Slurm "
                         "--gpus-per-node or --gpu-bind=none, not --gpus-per-task; with containers "
                         "all GPUs in each, or one container a node",
                  .impact = 1});
    return outcome;
}

Outcome check_iommu(Evidence const& evidence) {
    bool known = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (!several_gpus(node) || node.iommu == Iommu::not_known) continue;
        known = true;
        if (node.iommu != Iommu::translated || node.is_virtual) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node.name},
             .title = "The IOMMU translates the GPUs' transfers",
             .seen = node.iommu_seen,
             .effect = "P2P over PCIe and GPUDirect RDMA go through the CPU: slow, or a hang",
             .fix = "boot with iommu=pt, or turn VT-d / AMD-Vi off",
             .impact = 0.4});
    }
    if (!known)
        return skip(any_several(evidence) ? "IOMMU not known" : "no node with several GPUs");
    return outcome;
}

Outcome check_nvls(Evidence const& evidence) {
    bool const any = std::ranges::any_of(evidence.nodes, may_nvls);
    if (!any && !any_trouble(evidence, LogTrouble::nvls))
        return skip("no NVSwitch of Hopper or later");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (!may_nvls(node)) continue;
        auto const* off = setting(node, "NCCL_NVLS_ENABLE");
        std::string seen;
        if (off != nullptr && off->value == "0") seen = "NCCL_NVLS_ENABLE=0 from " + off->origin;
        if (node.log.nvls_missing > 0 && node.log.nvls_available == 0) {
            seen = "log: NVLS multicast support is not available";
        }
        bool const fabric = !node.fabric_state.empty() && node.fabric_state != "Completed" &&
                            node.fabric_state != "N/A";
        if (fabric) seen = "nvidia-smi -q: fabric state " + node.fabric_state;
        if (seen.empty()) continue;
        bool const by_setting = seen.starts_with("NCCL_NVLS");
        outcome.findings.push_back(
            {.severity = by_setting ? Severity::warning : Severity::fault,
             .nodes = {node.name},
             .title = "NVLS (reduction in the NVSwitch) is not used",
             .seen = seen,
             .effect = "all_reduce inside the node at 367 instead of 480 GB/s",
             .fix = by_setting ? "unset NCCL_NVLS_ENABLE"
                               : "systemctl restart nvidia-fabricmanager (its version must be the "
                                 "driver's), then reset the GPUs",
             .impact = 0.23});
    }
    find_trouble(outcome, evidence, LogTrouble::nvls,
                 {.severity = Severity::fault,
                  .title = "NVLS could not be set up",
                  .effect = "NCCL 2.29 fails, 2.27-2.28 may hang, older ones are 23 % slower",
                  .fix = "check nvidia-fabricmanager; in containers give IMEX channels",
                  .impact = 0.3});
    return outcome;
}

Outcome check_mnnvl(Evidence const& evidence) {
    auto const in_domain = [](NodeEvidence const& node) {
        return has_gpus(node) && std::ranges::any_of(node.machine->gpus, [](auto const& gpu) {
                   return !gpu.nvl_domain.empty() || gpu.name.find("GB200") != std::string::npos ||
                          gpu.name.find("GB300") != std::string::npos;
               });
    };
    bool const any = std::ranges::any_of(evidence.nodes, in_domain);
    if (!any && !any_trouble(evidence, LogTrouble::imex)) return skip("no multi-node NVLink");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (!in_domain(node)) continue;
        std::string seen;
        if (node.has_imex_channels == false) seen = "/dev/nvidia-caps-imex-channels is not there";
        for (int const state : node.log.mnnvl_states) {
            if (state != 3)
                seen = fmt::format("log: MNNVL fabric state {} (3 is completed)", state);
        }
        if (seen.empty()) continue;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = "The NVLink domain over nodes is not up",
             .seen = seen,
             .effect = "traffic between the nodes goes over NICs: 85 instead of 811 GB/s",
             .fix = "systemctl status nvidia-imex on every node of the domain; in containers give "
                    "the IMEX channel",
             .impact = 0.9});
    }
    if (outcome.findings.empty()) {
        find_trouble(outcome, evidence, LogTrouble::imex,
                     {.severity = Severity::fault,
                      .title = "The NVLink domain over nodes cannot be used: no IMEX channel",
                      .effect = "the run fails when it connects",
                      .fix = "give the container /dev/nvidia-caps-imex-channels/channel0, see that "
                             "nvidia-imex runs on every node of the domain; or "
                             "--set nccl.NCCL_MNNVL_ENABLE=0: traffic then goes over NICs",
                      .impact = 1});
    }
    return outcome;
}

namespace {

// Bits of NVML's clocks-event reasons that indicate a problem.
constexpr std::int64_t kHardware = 0x8, kThermalSoftware = 0x20, kThermalHardware = 0x40,
                       kPowerBrake = 0x80;

std::string throttle_words(std::int64_t reasons) {
    std::vector<std::string_view> words;
    if (reasons & kThermalHardware) words.push_back("hardware thermal");
    if (reasons & kThermalSoftware) words.push_back("software thermal");
    if (reasons & kPowerBrake) words.push_back("power brake");
    if ((reasons & kHardware) && words.empty()) words.push_back("hardware slowdown");
    return fmt::format("{}", fmt::join(words, ", "));
}

struct XidMeaning {
    int xid;
    std::string_view meaning;
};

/// "79 (it has fallen off the bus), 45"
std::string xids_text(std::vector<int> const& xids) {
    constexpr std::array kMeanings{XidMeaning{48, "double-bit memory error"},
                                   XidMeaning{64, "a memory row could not be remapped"},
                                   XidMeaning{74, "NVLink error"},
                                   XidMeaning{79, "it has fallen off the bus"},
                                   XidMeaning{94, "contained memory error"},
                                   XidMeaning{95, "uncontained memory error"},
                                   XidMeaning{119, "its firmware (GSP) does not answer"},
                                   XidMeaning{120, "its firmware (GSP) failed"},
                                   XidMeaning{144, "NVLink error"},
                                   XidMeaning{145, "NVLink error"},
                                   XidMeaning{146, "NVLink error"},
                                   XidMeaning{147, "NVLink error"},
                                   XidMeaning{148, "NVLink error"},
                                   XidMeaning{149, "NVLink error"},
                                   XidMeaning{150, "NVLink error"},
                                   XidMeaning{154, "what the GPU needs has changed"}};
    std::string text = "Xid ";
    for (int const xid : xids) {
        auto const known = std::ranges::find(kMeanings, xid, &XidMeaning::xid);
        text += fmt::format("{}{}", text.size() > 4 ? ", " : "", xid);
        if (known != kMeanings.end()) text += fmt::format(" ({})", known->meaning);
    }
    return text;
}

void check_nvswitch(NodeEvidence const& node, Outcome& outcome) {
    if (node.nvswitch_faults.empty()) return;
    outcome.findings.push_back(
        {.severity = Severity::fault,
         .nodes = {node.name},
         .title = "An NVSwitch has reported a fatal error",
         .seen = node.nvswitch_faults.front(),
         .effect = "GPUs of the node lose NVLink: ranks on them fail",
         .fix = fmt::format("exclude it {}, restart nvidia-fabricmanager and reset all its GPUs; "
                            "when it comes again, replace the board",
                            kExclude),
         .impact = 1});
}

std::string name_of(GpuState const& gpu) {
    return gpu.gpu < 0 ? "The GPU at " + gpu.address : fmt::format("GPU {}", gpu.gpu);
}

/// What the driver asks for; it stays so until the GPU is reset, whatever the counters say.
void check_recovery(NodeEvidence const& node, GpuState const& gpu, Outcome& outcome) {
    if (gpu.recovery_action.empty() && !gpu.remap_failed) return;
    bool const broken = gpu.remap_failed;
    outcome.findings.push_back(
        {.severity = Severity::fault,
         .nodes = {node.name},
         .title = name_of(gpu) + (broken ? " has a memory row that could not be replaced"
                                         : " cannot be used before it is recovered"),
         .seen = broken ? "nvidia-smi -q: Remapping Failure Occurred"
                        : "nvidia-smi -q: GPU Recovery Action " + gpu.recovery_action,
         .effect = "ranks on it fail, or do not start",
         .fix = fmt::format("exclude it {}, ", kExclude) +
                (broken ? "replace the GPU"
                        : "end its processes, then nvidia-smi -r or a reboot, as the action says"),
         .impact = 1});
}

void check_gpu(NodeEvidence const& node, GpuState const& gpu, Outcome& outcome) {
    auto const add = [&](Severity severity, std::string title, std::string seen, std::string effect,
                         std::pair<std::string, double> fix_and_impact) {
        outcome.findings.push_back({.severity = severity,
                                    .nodes = {node.name},
                                    .title = std::move(title),
                                    .seen = std::move(seen),
                                    .effect = std::move(effect),
                                    .fix = std::move(fix_and_impact.first),
                                    .impact = fix_and_impact.second});
    };
    std::string const name = name_of(gpu);
    std::string const exclude = fmt::format("exclude it {}", kExclude);
    if (std::ranges::any_of(gpu.xids, is_fatal_xid) || !gpu.fatal_event.empty()) {
        std::string const event = gpu.fatal_event.empty() ? "" : "; Xid " + gpu.fatal_event;
        add(Severity::fault, name + " has reported a fatal Xid", xids_text(gpu.xids) + event,
            "ranks on it fail or give wrong sums", {exclude + ", reset or replace the GPU", 1});
    } else if (!gpu.xids.empty()) {
        bool const by_program = std::ranges::all_of(gpu.xids, is_program_xid);
        add(Severity::info, name + " has reported an Xid", xids_text(gpu.xids),
            by_program ? "13, 31, 43 and 45 mostly come from the program that ran"
                       : "docs.nvidia.com/deploy/xid-errors says what it means",
            {"", 0});
    }
    if (gpu.ecc_uncorrected > 0) {
        add(Severity::fault, name + " has uncorrected memory errors",
            fmt::format("{} since the driver was loaded", gpu.ecc_uncorrected),
            "the rank that meets one is killed",
            {exclude + ", reset the GPU (it retires the row)", 0.9});
    }
    if (auto const words = throttle_words(gpu.throttle_reasons); !words.empty()) {
        bool const hardware = (gpu.throttle_reasons & ~kThermalSoftware & 0xe8) != 0;
        std::string seen = "clocks are held down: " + words;
        if (!std::isnan(gpu.temperature_c)) seen += fmt::format(" at {:.0f} C", gpu.temperature_c);
        if (!std::isnan(gpu.sm_mhz)) seen += fmt::format(", SM {:.0f} MHz", gpu.sm_mhz);
        add(hardware ? Severity::fault : Severity::warning, name + " is throttled", seen,
            "every step waits for its rank",
            {hardware ? exclude + ", check cooling and power supply"
                      : "check cooling and inlet air",
             hardware ? 0.4 : 0.2});
    } else if (gpu.temperature_c >= 85) {
        add(Severity::warning, name + " is hot", fmt::format("{:.0f} C", gpu.temperature_c),
            "it will lower its clocks soon", {"check cooling and inlet air", 0.1});
    }
}

/// What NCCL's log alone says; where the kernel's log names the GPU, that is the better finding.
void check_logged_health(Evidence const& evidence, Outcome& outcome) {
    Outcome logged;
    find_trouble(
        logged, evidence, LogTrouble::gpu_broken,
        {.severity = Severity::fault,
         .title = "A GPU of the node is broken: an uncorrectable error of memory or NVLink",
         .effect = "ranks on it fail or give wrong sums",
         .fix =
             fmt::format("exclude it {}; dmesg (Xid) names the GPU: reset or replace it", kExclude),
         .impact = 1});
    find_trouble(logged, evidence, LogTrouble::fabric_manager,
                 {.severity = Severity::fault,
                  .title = "CUDA cannot start: the NVSwitches are not set up (error 802)",
                  .effect = "no rank of the node can use a GPU",
                  .fix = "systemctl status nvidia-fabricmanager: it must run, and its version must "
                         "be the driver's; since Blackwell also nvlsm. Then reset the GPUs or "
                         "reboot",
                  .impact = 1});
    std::set<std::string> known;
    for (auto const& each : outcome.findings) {
        if (each.severity == Severity::fault) known.insert(each.nodes.front());
    }
    for (auto& each : logged.findings) {
        if (known.insert(each.nodes.front()).second) outcome.findings.push_back(std::move(each));
    }
}

}  // namespace

Outcome check_gpu_health(Evidence const& evidence) {
    Outcome outcome;
    bool any = false;
    for (auto const& node : evidence.nodes) {
        check_nvswitch(node, outcome);
        any = any || !node.nvswitch_faults.empty();
        for (auto const& gpu : node.gpus) {
            any = true;
            check_gpu(node, gpu, outcome);
            check_recovery(node, gpu, outcome);
        }
    }
    check_logged_health(evidence, outcome);
    if (!any && outcome.findings.empty()) return skip("no GPU health known");
    return outcome;
}

Outcome check_clocks(Evidence const& evidence) {
    // An idle GPU lowers its clock: only busy ones are compared.
    auto const works = [](GpuState const& gpu) { return gpu.sm_mhz > 0 && gpu.utilisation > 0.5; };
    std::vector<double> clocks;
    for (auto const& node : evidence.nodes) {
        for (auto const& gpu : node.gpus) {
            if (works(gpu)) clocks.push_back(gpu.sm_mhz);
        }
    }
    if (clocks.size() < 3) return skip("no clocks of working GPUs");
    double const usual = median(clocks);
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        for (auto const& gpu : node.gpus) {
            if (!works(gpu) || gpu.sm_mhz >= 0.85 * usual) continue;
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .nodes = {node.name},
                 .title = fmt::format("GPU {} runs at a lower clock than the others", gpu.gpu),
                 .seen = fmt::format("SM {:.0f} MHz, median {:.0f}", gpu.sm_mhz, usual),
                 .effect = "every step waits for its rank",
                 .fix = "nvidia-smi -q -d CLOCK,PERFORMANCE; nvidia-smi -rgc takes a lock away",
                 .impact = 1 - gpu.sm_mhz / usual});
        }
    }
    return outcome;
}

}  // namespace osora::topology::doctor
