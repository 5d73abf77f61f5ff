#include "worker/parallel/load_cuda.hpp"

#include "worker/cuda/cuda_module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <system_error>

namespace osora::worker {
namespace {

constexpr char const* kInstead = "; set CUDA_VISIBLE_DEVICES= to train on the CPU";

/// The kernel driver's own folder: there with a loaded driver, with or without LibTorch.
bool has_driver(std::filesystem::path const& root) {
    std::error_code ignored;
    return std::filesystem::exists(root / "proc/driver/nvidia/version", ignored);
}

Result<CudaModule const*> open_module(std::filesystem::path const& path) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        return Error{Errc::invalid_input,
                     fmt::format("this machine has a GPU, but {} does not load: {}{}",
                                 path.string(), ::dlerror(), kInstead)};
    }
    using Entry = CudaModule const* (*)();
    auto const entry = reinterpret_cast<Entry>(::dlsym(library, "osora_cuda_module"));
    CudaModule const* const module = entry != nullptr ? entry() : nullptr;
    if (module == nullptr || module->version != kCudaModuleVersion) {
        return Error{Errc::invalid_input, fmt::format("{} belongs to another version of osora{}",
                                                      path.string(), kInstead)};
    }
    return module;
}

}  // namespace

Result<CudaModule const*> load_cuda(std::filesystem::path const& module,
                                    std::filesystem::path const& root) {
    if (!has_driver(root)) return nullptr;
    OSORA_TRY(CudaModule const* const loaded, open_module(module));
    try {
        if (loaded->device_count() == 0) return nullptr;
    } catch (std::exception const& error) {
        return Error{Errc::invalid_input, fmt::format("CUDA: {}{}", error.what(), kInstead)};
    }
    return loaded;
}

}  // namespace osora::worker
