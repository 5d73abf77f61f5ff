// Functions and structs are declared here as in nvml.h: its ABI is stable, and no toolkit is needed
// to build.
#include "topology/live/nvml_gpus.hpp"

#include "topology/live/nvml_library.hpp"
#include "topology/pci_address.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace osora::topology {
namespace {

constexpr unsigned kLinksMax = 18, kEnabled = 1;
constexpr int kRemoteSwitch = 2;
constexpr unsigned char kFabricCompleted = 3;

struct PciInfo {  // nvmlPciInfo_t
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};
struct FabricInfo {  // nvmlGpuFabricInfo_t
    unsigned char cluster[16];
    NvmlStatus status;
    unsigned clique;
    unsigned char state;
};

/// Functions of an open library; all may be missing.
class DriverQueries {
public:
    explicit DriverQueries(void* library) : library_(library) {}

    /// Whether the function exists and succeeded.
    template <class... Arguments>
    bool ask(char const* name, Arguments... arguments) const {
        auto* const function =
            reinterpret_cast<NvmlStatus (*)(Arguments...)>(::dlsym(library_, name));
        return function != nullptr && function(arguments...) == 0;
    }

private:
    void* library_;
};

std::string text_of(DriverQueries const& driver, char const* name, NvmlDevice device) {
    std::array<char, 96> text{};
    auto const size = static_cast<unsigned>(text.size());
    if (!driver.ask(name, device, text.data(), size)) return {};
    text.back() = '\0';
    return text.data();
}

double gt_s(unsigned generation) {
    constexpr std::array kSpeeds{0.0, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
    return generation < kSpeeds.size() ? kSpeeds[generation] : 0;
}

PcieLink link_of(DriverQueries const& driver, NvmlDevice device) {
    auto const value_of = [&](char const* name) {
        unsigned value = 0;
        return driver.ask(name, device, &value) ? value : 0;
    };
    auto const lanes = [&](char const* name) {
        unsigned const value = value_of(name);
        return value <= 32 ? static_cast<int>(value) : 0;
    };
    return {.current_gt_s = gt_s(value_of("nvmlDeviceGetCurrPcieLinkGeneration")),
            .max_gt_s = gt_s(value_of("nvmlDeviceGetMaxPcieLinkGeneration")),
            .current_width = lanes("nvmlDeviceGetCurrPcieLinkWidth"),
            .max_width = lanes("nvmlDeviceGetMaxPcieLinkWidth")};
}

void add_nvlinks(DriverQueries const& driver, NvmlDevice device, MachineGpu& gpu) {
    for (unsigned link = 0; link < kLinksMax; ++link) {
        unsigned state = 0;
        if (!driver.ask("nvmlDeviceGetNvLinkState", device, link, &state) || state != kEnabled) {
            continue;
        }
        int kind = -1;
        (void)driver.ask("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &kind);
        PciInfo remote{};
        std::string peer = "switch";
        if (kind != kRemoteSwitch) {
            if (!driver.ask("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &remote)) continue;
            remote.address[31] = '\0';
            peer = pci_address(remote.address).value_or("");
        }
        if (peer.empty()) continue;
        auto const known = std::ranges::find(gpu.nvlinks, peer, &NvlinkPeer::address);
        if (known != gpu.nvlinks.end()) {
            ++known->links;
        } else {
            gpu.nvlinks.push_back({peer, 1});
        }
    }
}

/// "0a1b...:7": cluster UUID and clique of a GPU that has joined its NVLink domain.
std::string domain_of(DriverQueries const& driver, NvmlDevice device) {
    FabricInfo info{};
    if (!driver.ask("nvmlDeviceGetGpuFabricInfo", device, &info)) return {};
    bool const any =
        std::ranges::any_of(info.cluster, [](unsigned char each) { return each != 0; });
    if (info.state != kFabricCompleted || info.status != 0 || !any) return {};
    std::string text;
    for (unsigned char const each : info.cluster) text += fmt::format("{:02x}", each);
    return fmt::format("{}:{}", text, info.clique);
}

MachineGpu gpu_of(DriverQueries const& driver, NvmlDevice device) {
    MachineGpu gpu;
    PciInfo place{};
    if (!driver.ask("nvmlDeviceGetPciInfo_v3", device, &place)) return gpu;
    place.address[31] = '\0';
    gpu.address = pci_address(place.address).value_or("");
    gpu.name = text_of(driver, "nvmlDeviceGetName", device);
    gpu.uuid = text_of(driver, "nvmlDeviceGetUUID", device);
    NvmlMemory memory{};
    if (driver.ask("nvmlDeviceGetMemoryInfo", device, &memory)) {
        gpu.memory_bytes = static_cast<std::int64_t>(std::min(memory.total, 1ull << 50));
    }
    int major = 0, minor = 0;
    if (driver.ask("nvmlDeviceGetCudaComputeCapability", device, &major, &minor)) {
        gpu.compute_capability = 10 * major + minor;
    }
    gpu.link = link_of(driver, device);
    add_nvlinks(driver, device, gpu);
    gpu.nvl_domain = domain_of(driver, device);
    return gpu;
}

}  // namespace

NvmlGpus read_nvml_gpus(std::string const& name) {
    Library const library(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library) return {};
    DriverQueries const driver(library.get());
    if (!driver.ask("nvmlInit_v2")) return {};
    NvmlGpus all;
    std::array<char, 96> version{};
    if (driver.ask("nvmlSystemGetDriverVersion", version.data(),
                   static_cast<unsigned>(version.size() - 1))) {
        all.driver = version.data();
    }
    unsigned count = 0;
    if (!driver.ask("nvmlDeviceGetCount_v2", &count)) count = 0;
    for (unsigned i = 0; i < std::min(count, kNvmlGpusMax); ++i) {
        NvmlDevice device = nullptr;
        if (!driver.ask("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
        MachineGpu gpu = gpu_of(driver, device);
        if (!gpu.address.empty()) all.gpus.push_back(std::move(gpu));
    }
    std::ranges::sort(all.gpus, {}, &MachineGpu::address);
    (void)driver.ask("nvmlShutdown");
    return all;
}

}  // namespace osora::topology
