// Recognises the exceptions of allocators. Header-only.
#pragma once

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace osora::worker {

/// For people.
[[nodiscard]] inline std::string text_of(std::exception const& error) {
    if (auto const* const of_torch = dynamic_cast<c10::Error const*>(&error))
        return of_torch->what_without_backtrace();
    if (dynamic_cast<std::bad_alloc const*>(&error) != nullptr) return "malloc has no memory";
    return error.what();
}

/// What CUDA's libraries say, which allocate beside LibTorch's allocator, and LibTorch about
/// malloc. NCCL's text has the words of the driver after its own.
[[nodiscard]] inline bool tells_of_lack(std::string_view text) {
    static constexpr std::array<std::string_view, 7> kTexts{
        "DefaultCPUAllocator",
        "CUDA error: out of memory",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "CUSOLVER_STATUS_ALLOC_FAILED",
        "CUFFT_ALLOC_FAILED"};
    if (text.find("NCCL") != text.npos && text.find("out of memory") != text.npos) return true;
    return std::ranges::any_of(kTexts,
                               [&](std::string_view each) { return text.find(each) != text.npos; });
}

/// Of the cap, of a GPU, of a library on it, or of malloc, with or without LibTorch around it.
[[nodiscard]] inline bool is_out_of_memory(std::exception const& error) {
    if (dynamic_cast<c10::OutOfMemoryError const*>(&error) != nullptr) return true;
    if (dynamic_cast<std::bad_alloc const*>(&error) != nullptr) return true;
    return tells_of_lack(text_of(error));
}

}  // namespace osora::worker
