#include "topology/gpu_places.hpp"

#include "topology/cpu_list.hpp"
#include "topology/text_of.hpp"

#include <algorithm>
#include <charconv>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

std::string uuid_in(std::string const& information) {
    constexpr std::string_view kKey = "GPU UUID:";
    auto const at = information.find(kKey);
    if (at == std::string::npos) return "";
    auto const begin = information.find_first_not_of(" \t", at + kKey.size());
    if (begin == std::string::npos) return "";
    return information.substr(begin, information.find_first_of(" \t\n", begin) - begin);
}

GpuPlace const* named(std::vector<GpuPlace> const& gpus, std::string_view name) {
    std::size_t index = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error == std::errc() && end == name.data() + name.size()) {
        return index < gpus.size() ? &gpus[index] : nullptr;
    }
    if (!name.starts_with("GPU-")) return nullptr;
    auto const is_meant = [name](GpuPlace const& gpu) { return gpu.uuid.starts_with(name); };
    if (std::ranges::count_if(gpus, is_meant) != 1) return nullptr;
    return &*std::ranges::find_if(gpus, is_meant);
}

}  // namespace

std::vector<GpuPlace> read_gpu_places(fs::path const& root) {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator at(root / "proc/driver/nvidia/gpus", error), end;
         !error && at != end; at.increment(error)) {
        names.push_back(at->path().filename().string());
    }
    std::ranges::sort(names);
    std::vector<GpuPlace> gpus;
    for (std::string const& name : names) {
        auto const list = text_of(root / "sys/bus/pci/devices" / name / "local_cpulist");
        gpus.push_back(
            {.bus_id = name,
             .uuid = uuid_in(text_of(root / "proc/driver/nvidia/gpus" / name / "information")),
             .near_cpus = parse_cpu_list(list).value_or(std::vector<int>())});
    }
    return gpus;
}

std::vector<GpuPlace> visible_gpus(std::vector<GpuPlace> const& gpus, std::string_view list) {
    std::vector<GpuPlace> visible;
    while (!list.empty()) {
        std::size_t const comma = std::min(list.find(','), list.size());
        GpuPlace const* gpu = named(gpus, list.substr(0, comma));
        if (gpu == nullptr) break;
        visible.push_back(*gpu);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return visible;
}

}  // namespace osora::topology
