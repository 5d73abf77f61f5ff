// Collects one node from the files below its root.
#include "base/files/regular_file.hpp"
#include "base/text/text.hpp"
#include "topology/assignment.hpp"
#include "topology/cpu_list.hpp"
#include "topology/doctor/collect_internal.hpp"
#include "topology/doctor/host_text.hpp"
#include "topology/doctor/versions.hpp"
#include "topology/local_machine.hpp"
#include "topology/nccl/nccl_conf.hpp"
#include "topology/sources/read_machine.hpp"
#include "topology/text_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

namespace osora::topology::doctor {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

std::vector<fs::path> entries(fs::path const& folder) {
    constexpr std::size_t kEntriesMax = 4096;
    std::vector<fs::path> list;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (list.size() < kEntriesMax) list.push_back(at->path());
    }
    std::ranges::sort(list);
    return list;
}

/// "NAME=VALUE" entries separated by zeros or line ends.
Variables variables_of(std::string_view text) {
    Variables variables;
    while (!text.empty()) {
        std::size_t const end =
            std::min(text.find_first_of(std::string_view("\0\n", 2)), text.size());
        std::string_view const entry = text.substr(0, end);
        std::size_t const equals = entry.find('=');
        if (equals != std::string_view::npos && equals > 0) {
            variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return variables;
}

/// The environment that a login would set, for a tree without a recorded environment.
Variables login_variables(fs::path const& root) {
    std::vector<fs::path> files{root / "etc/environment", root / "etc/profile"};
    for (char const* folder : {"etc/environment.d", "etc/profile.d"}) {
        std::ranges::move(entries(root / folder), std::back_inserter(files));
    }
    Variables variables;
    for (auto const& file : files) {
        for (auto& each : parse_environment_file(text_of(file))) {
            if (each.taken && each.exact) variables[each.name] = each.value;
        }
    }
    return variables;
}

Variables recorded_variables(fs::path const& root) {
    for (char const* name : {"environ", "proc/self/environ"}) {
        if (is_there(root / name)) return variables_of(text_of(root / name));
    }
    return login_variables(root);
}

/// Home of the user on that node; "": no home has a file of NCCL's.
fs::path home_of(fs::path const& root, Variables const& variables) {
    auto const home = variables.find("HOME");
    if (home != variables.end()) return home->second;
    if (is_there(root / "root/.nccl.conf")) return "/root";
    for (auto const& each : entries(root / "home")) {
        if (is_there(each / ".nccl.conf")) return fs::path("/home") / each.filename();
    }
    return {};
}

/// From the CPU's flags, or the board's vendor.
bool is_virtual(fs::path const& root) {
    if (text_of(root / "proc/cpuinfo").find(" hypervisor") != std::string::npos) return true;
    std::string const vendor = line_of(root / "sys/class/dmi/id/sys_vendor");
    std::string const product = line_of(root / "sys/class/dmi/id/product_name");
    bool const cloud = vendor == "QEMU" || vendor == "Google" || vendor == "Amazon EC2" ||
                       product.find("Virtual Machine") != std::string::npos;
    return (cloud && product.find("metal") == std::string::npos) ||
           is_there(root / "sys/hypervisor/type");
}

void read_modules(NodeEvidence& node, fs::path const& root) {
    if (!is_there(root / "proc/modules")) return;
    node.modules.emplace();
    std::string const text = text_of(root / "proc/modules");
    for (std::string_view left = text; !left.empty();) {
        std::size_t const end = std::min(left.find('\n'), left.size());
        std::string_view const line = left.substr(0, end);
        node.modules->emplace(line.substr(0, line.find(' ')));
        left.remove_prefix(std::min(end + 1, left.size()));
    }
}

void read_devices(NodeEvidence& node, fs::path const& root) {
    if (!is_there(root / "dev")) return;
    auto const uverbs = entries(root / "dev/infiniband");
    node.has_uverbs = std::ranges::any_of(uverbs, [](fs::path const& each) {
        return each.filename().string().starts_with("uverbs");
    });
    node.has_imex_channels = !entries(root / "dev/nvidia-caps-imex-channels").empty();
}

/// The IOMMU group of a GPU shows what the kernel does, the command line what it was asked to do.
void read_iommu(NodeEvidence& node, fs::path const& root) {
    if (!node.machine || node.machine->gpus.empty()) return;
    fs::path const device = root / "sys/bus/pci/devices" / node.machine->gpus.front().address;
    std::string const type = line_of(device / "iommu_group/type");
    if (type == "identity") node.iommu = Iommu::passthrough;
    if (type.starts_with("DMA")) node.iommu = Iommu::translated;
    node.iommu_seen = type.empty() ? "" : "iommu_group/type is " + type;
    if (node.iommu != Iommu::not_known) return;
    std::string const cmdline = line_of(root / "proc/cmdline");
    node.iommu = iommu_of_cmdline(cmdline);
    if (node.iommu == Iommu::translated) node.iommu_seen = "intel_iommu=on without iommu=pt";
}

void read_limits(NodeEvidence& node, fs::path const& root) {
    auto limits = parse_limits(text_of(root / "proc/self/limits"));
    if (limits.memlock_bytes == kNotKnown && limits.open_files == kNotKnown) {
        std::string text = text_of(root / "etc/security/limits.conf");
        for (auto const& each : entries(root / "etc/security/limits.d"))
            text += "\n" + text_of(each);
        limits = parse_security_limits(text);
    }
    node.memlock_bytes = limits.memlock_bytes;
    node.open_files = limits.open_files;
    std::string mounts = text_of(root / "proc/self/mounts");
    if (mounts.empty()) mounts = text_of(root / "proc/mounts");
    node.shm_bytes = shm_bytes_of(mounts, node.machine ? node.machine->memory_bytes : 0);
}

void read_cpus(NodeEvidence& node, fs::path const& root) {
    std::string const status = text_of(root / "proc/self/status");
    constexpr std::string_view kKey = "Cpus_allowed_list:";
    if (std::size_t const at = status.find(kKey); at != std::string::npos) {
        std::string_view const rest = std::string_view(status).substr(at + kKey.size());
        node.cpus_allowed = std::string(trimmed(rest.substr(0, rest.find('\n'))));
    } else {
        node.cpus_allowed = line_of(root / "sys/fs/cgroup/cpuset.cpus.effective");
        return;
    }
    auto const cpus = parse_cpu_list(node.cpus_allowed);
    int const usable = read_local_machine(root).cores;
    if (cpus && usable < static_cast<int>(cpus->size())) node.cpu_quota_cores = usable;
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Fri ..."
std::string driver_of(std::string const& text) {
    std::size_t const at = text.find("Kernel Module");
    if (at == std::string::npos) return {};
    std::size_t const digit = text.find_first_of("0123456789", text.find("  ", at));
    if (digit == std::string::npos) return {};
    return text.substr(digit, text.find_first_not_of("0123456789.", digit) - digit);
}

void read_versions(NodeEvidence& node, fs::path const& root, Variables const& variables) {
    auto const set = [&](char const* name, std::string value) {
        if (std::string_view(name) == "nccl") {
            // "(2, 10, 3)" is what torch.cuda.nccl.version() prints.
            std::erase_if(value, [](char each) { return each == '(' || each == ' '; });
            std::ranges::replace(value, ',', '.');
            value = nccl_version(value);
        }
        if (!value.empty() && value.size() <= 64) node.versions.emplace(name, std::move(value));
    };
    std::string const text = text_of(root / "versions.txt");
    for (std::string_view left = text; !left.empty();) {
        std::size_t const end = std::min(left.find('\n'), left.size());
        std::string_view const line = trimmed(left.substr(0, end));
        std::size_t const space = line.find_first_of(" \t=");
        if (space != std::string_view::npos) {
            set(std::string(line.substr(0, space)).c_str(),
                std::string(trimmed(line.substr(space + 1))));
        }
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    std::string const driver = text_of(root / "proc/driver/nvidia/version");
    node.open_driver = driver.find("Open Kernel Module") != std::string::npos;
    std::string const loaded = line_of(root / "sys/module/nvidia/version");
    set("driver", loaded.empty() ? driver_of(driver) : loaded);
    set("ofed", line_of(root / "sys/module/mlx5_core/version"));
    set("kernel", line_of(root / "proc/sys/kernel/osrelease"));
    // Images of NVIDIA and PyTorch name their versions in the environment. NCCL_VERSION is that of
    // the image's package, while a program may load another, as LibTorch's wheels do.
    for (auto const& [variable, name] :
         {std::pair{"CUDA_VERSION", "cuda"}, {"PYTORCH_VERSION", "libtorch"}}) {
        auto const found = variables.find(variable);
        if (found != variables.end()) set(name, found->second);
    }
}

bool names_a_file(std::string const& name) {
    constexpr std::array kNames{"NCCL_TOPO_FILE",         "NCCL_GRAPH_FILE",
                                "NCCL_TUNER_PLUGIN",      "NCCL_NET_PLUGIN",
                                "NCCL_TUNER_CONFIG_PATH", "NCCL_TUNER_CONFIG_FILE"};
    return std::ranges::find(kNames, name) != kNames.end();
}

void read_settings(NodeEvidence& node, NodeSource const& source) {
    auto const& root = source.root;
    node.settings =
        read_inherited_settings(source.variables, root, home_of(root, source.variables));
    for (auto const& each : node.settings) {
        if (!each.effective || !names_a_file(each.name) || !each.value.starts_with('/')) continue;
        fs::path const file = root / fs::path(each.value).relative_path();
        // A recorded tree has few folders: a file counts as missing only if its folder was
        // recorded.
        bool const known = source.live || is_there(file.parent_path());
        if (known && !is_there(file)) node.missing_files.push_back(each.name);
    }
}

/// The GPU to which Xids at `address` belong: dmesg's address has no function, "0000:3b:00". A GPU
/// that fell off the bus is in no list.
GpuState& gpu_at(NodeEvidence& node, std::string const& address) {
    auto const is_it = [&](MachineGpu const& each) { return each.address.starts_with(address); };
    int index = -1;
    if (node.machine) {
        auto const& gpus = node.machine->gpus;
        auto const at = std::ranges::find_if(gpus, is_it);
        if (at != gpus.end()) index = static_cast<int>(at - gpus.begin());
    }
    auto const found = std::ranges::find_if(node.gpus, [&](GpuState const& each) {
        return index >= 0 ? each.gpu == index : each.address == address;
    });
    if (found != node.gpus.end()) return *found;
    return node.gpus.emplace_back(GpuState{.gpu = index, .address = index < 0 ? address : ""});
}

void add_xids(NodeEvidence& node, std::string_view text) {
    for (auto const& [address, xids] : xids_of_dmesg(text)) {
        auto& known = gpu_at(node, address).xids;
        for (int const each : xids) {
            if (std::ranges::find(known, each) == known.end()) known.push_back(each);
        }
    }
    for (auto& [address, event] : fatal_events_of_dmesg(text)) {
        auto& known = gpu_at(node, address).fatal_event;
        if (known.empty()) known = std::move(event);
    }
    std::ranges::move(fatal_sxids_of_dmesg(text), std::back_inserter(node.nvswitch_faults));
}

/// Files recorded beside the tree.
void read_extras(NodeEvidence& node, fs::path const& root) {
    if (node.machine) {
        for (auto const& [address, acs] : acs_of_lspci(text_of(root / "lspci.txt"))) {
            auto const found = std::ranges::find(node.machine->pci, address, &PciDevice::address);
            if (found != node.machine->pci.end()) {
                found->acs = acs;
            } else if (node.machine->pci.empty()) {
                PciDevice bridge;
                bridge.address = address;
                bridge.acs = acs;
                node.machine->pci.push_back(std::move(bridge));
            }
        }
    }
    auto smi = parse_nvidia_smi(text_of(root / "nvidia-smi.txt"));
    node.gpus = std::move(smi.gpus);
    node.fabric_state = std::move(smi.fabric_state);
    add_xids(node, head_of(root / "dmesg.txt"));
    for (auto const& folder : {root, root / "logs"}) {
        for (auto const& each : entries(folder)) {
            if (each.extension() == ".log") add_log_text(node, head_of(each));
        }
    }
}

}  // namespace

bool is_there(fs::path const& path) {
    std::error_code error;
    return fs::exists(path, error);
}

std::string line_of(fs::path const& file) {
    return std::string(trimmed(text_of(file)));
}

void add_log_text(NodeEvidence& node, std::string_view text) {
    add_nccl_log(node.log, text);
    add_xids(node, text);
}

std::string head_of(fs::path const& file) {
    constexpr std::size_t kBytesMax = 16u << 20;
    if (check_regular(file).has_error()) return "";
    std::ifstream in(file, std::ios::binary);
    std::array<char, 1 << 16> piece{};
    auto const read = [&](std::size_t most) {
        std::string text;
        while (in && text.size() < most) {
            in.read(piece.data(), piece.size());
            text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        }
        return text;
    };
    std::error_code error;
    auto const size = fs::file_size(file, error);
    bool const fits = error || size <= 2 * kBytesMax;
    if (fits) return read(2 * kBytesMax);
    std::string text = read(kBytesMax);
    in.seekg(-static_cast<std::streamoff>(kBytesMax), std::ios::end);
    return text + "\n" + read(kBytesMax);
}

NodeEvidence read_node(NodeSource const& source) {
    fs::path const& root = source.root;
    NodeEvidence node;
    Machine machine = read_machine(root, source.name);
    node.name = machine.name.empty() ? root.filename().string() : machine.name;
    bool const empty = machine.gpus.empty() && machine.nics.empty() && machine.cores == 0;
    if (!empty) node.machine = std::move(machine);
    node.is_virtual = is_virtual(root);
    node.virtual_topology = is_there(root / "var/run/nvidia-topologyd/virtualTopology.xml") ||
                            is_there(root / "run/nvidia-topologyd/virtualTopology.xml");
    node.memory_peers = is_there(root / "sys/kernel/mm/memory_peers/nv_mem");
    read_modules(node, root);
    read_devices(node, root);
    read_iommu(node, root);
    read_limits(node, root);
    read_cpus(node, root);
    read_versions(node, root, source.variables);
    read_settings(node, source);
    if (node.machine) read_counters(node, root);
    if (!source.live) read_extras(node, root);
    return node;
}

NodeEvidence read_this_node(Variables const& environment) {
    return read_node({.root = "/", .name = "", .variables = environment, .live = true});
}

NodeEvidence read_recorded_node(fs::path const& root, std::string const& name) {
    return read_node(
        {.root = root, .name = name, .variables = recorded_variables(root), .live = false});
}

}  // namespace osora::topology::doctor
