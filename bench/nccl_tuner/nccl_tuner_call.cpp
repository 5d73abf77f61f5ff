// nccl_tuner_call: what the tuner plug-in costs a collective, with the most regions that a file may
// hold. Prints ns a call; fails over the limit of 2 us.
#include "base/files/files.hpp"
#include "scheduler_plugins/nccl_tuner/tuner_abi.h"
#include "topology/nccl/nccl_tuner_file.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>

namespace osora::bench {
namespace {

constexpr double kLimitNs = 2000;
constexpr int kRegions = 512, kCalls = 200'000, kRounds = 5, kAllReduce = 4;

std::string file_with_all_regions() {
    topology::TunerFile file;
    for (int i = 0; i < kRegions; ++i) {
        topology::TunerRegion region;
        region.start_bytes = std::int64_t{4096} * i;
        region.stop_bytes = std::int64_t{4096} * (i + 1);
        file.regions.push_back(region);
    }
    return topology::encode_tuner_file(file).value();
}

/// The median round, ns a call; the size is that of the last region, found last.
double call_ns(tuner_v4 const& plugin, void* context) {
    std::array<double, kRounds> rounds{};
    for (double& round : rounds) {
        std::array<float, TUNER_ALGOS * TUNER_PROTOS> costs{};
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < kCalls; ++i) {
            costs.fill(5);
            int channels = 0;
            plugin.get_coll_info(context, kAllReduce, std::size_t{4096} * kRegions - 1, 1,
                                 reinterpret_cast<float**>(costs.data()), TUNER_ALGOS, TUNER_PROTOS,
                                 0, &channels);
        }
        std::chrono::duration<double, std::nano> const took =
            std::chrono::steady_clock::now() - start;
        round = took.count() / kCalls;
    }
    std::ranges::sort(rounds);
    return rounds[kRounds / 2];
}

int run() {
    std::string name = (std::filesystem::temp_directory_path() / "tunerXXXXXX").string();
    std::filesystem::path const folder = ::mkdtemp(name.data());
    std::string const file = (folder / "tuner").string();
    if (write_file_atomic(file, file_with_all_regions()).has_error()) return 1;
    ::setenv("OSORA_NCCL_TUNER_FILE", file.c_str(), 1);
    void* const library = ::dlopen(OSORA_NCCL_TUNER, RTLD_NOW | RTLD_LOCAL);
    auto const* plugin =
        library ? static_cast<tuner_v4 const*>(::dlsym(library, "ncclTunerPlugin_v4")) : nullptr;
    void* context = nullptr;
    if (plugin != nullptr) plugin->init(16, 2, nullptr, &context);
    std::filesystem::remove_all(folder);
    if (context == nullptr) {
        fmt::print(stderr, "{}: not loaded\n", OSORA_NCCL_TUNER);
        return 1;
    }
    double const ns = call_ns(*plugin, context);
    plugin->destroy(context);
    fmt::print("tuner plug-in, {} regions: {:.0f} ns a call (limit {:.0f})\n", kRegions, ns,
               kLimitNs);
    return ns <= kLimitNs ? 0 : 1;
}

}  // namespace
}  // namespace osora::bench

int main() {
    return osora::bench::run();
}
