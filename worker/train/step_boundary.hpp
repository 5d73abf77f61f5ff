// Converts LibTorch's exceptions to an Error, at the boundary of a step, and nowhere else.
#pragma once

#include "base/result.hpp"
#include "worker/memory/out_of_memory.hpp"
#include "worker/train/torch_failure.hpp"

#include <c10/util/Exception.h>

#include <exception>
#include <optional>
#include <string>
#include <type_traits>

namespace osora::worker {

/// The allocator's message if f() ran out of memory; nothing if it did not. Other exceptions pass.
template <class F>
[[nodiscard]] std::optional<std::string> lacked_memory(F const& f) {
    try {
        f();
        return std::nullopt;
    } catch (std::exception const& error) {
        if (!is_out_of_memory(error)) throw;
        return text_of(error);
    }
}

/// The value of f(), a Result. `what`: "encode step 3", for exceptions that are not LibTorch's.
template <class F>
[[nodiscard]] std::invoke_result_t<F> at_step_boundary(std::string const& what, F const& f) {
    try {
        return f();
    } catch (std::exception const& error) {
        if (is_out_of_memory(error)) return Error{Errc::out_of_memory, text_of(error)};
        if (dynamic_cast<c10::DistError const*>(&error) != nullptr)
            return Error{Errc::unreachable, text_of(error)};
        if (dynamic_cast<c10::Error const*>(&error) != nullptr)
            return Error{Errc::io, std::string(kTorchFailure) + text_of(error)};
        return Error{Errc::io, what + ": " + error.what()};
    }
}

}  // namespace osora::worker
