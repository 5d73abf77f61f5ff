// Recognises the exceptions of allocators. Header-only.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

namespace osora::worker {

/// Of the cap, of a GPU, or of malloc, with or without LibTorch around it.
[[nodiscard]] inline bool is_out_of_memory(std::exception const& error) {
    if (dynamic_cast<c10::OutOfMemoryError const*>(&error) != nullptr) return true;
    if (dynamic_cast<std::bad_alloc const*>(&error) != nullptr) return true;
    auto const* const of_torch = dynamic_cast<c10::Error const*>(&error);
    return of_torch != nullptr &&
           std::string(of_torch->what_without_backtrace()).find("DefaultCPUAllocator") !=
               std::string::npos;
}

/// For people.
[[nodiscard]] inline std::string text_of(std::exception const& error) {
    if (auto const* const of_torch = dynamic_cast<c10::Error const*>(&error))
        return of_torch->what_without_backtrace();
    if (dynamic_cast<std::bad_alloc const*>(&error) != nullptr) return "malloc has no memory";
    return error.what();
}

}  // namespace osora::worker
