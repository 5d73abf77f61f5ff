// Private to the readers of NVML: its basic types as in nvml.h, and the open library.
#pragma once

#include <dlfcn.h>

#include <memory>

namespace osora::topology {

using NvmlStatus = int;  // nvmlReturn_t; 0 = success
using NvmlDevice = void*;
constexpr unsigned kNvmlGpusMax = 64;

struct NvmlMemory {  // nvmlMemory_t, bytes
    unsigned long long total, free, used;
};

struct CloseLibrary {
    void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

}  // namespace osora::topology
