// What LibTorch throws becomes an Error here, at the boundary of a step, and nowhere else.
#pragma once

#include "base/result.hpp"

#include <c10/util/Exception.h>

#include <exception>
#include <string>
#include <type_traits>

namespace osora::worker {

/// The value of f(), a Result. `what`: "encode step 3", for exceptions that are not LibTorch's.
template <class F>
[[nodiscard]] std::invoke_result_t<F> at_step_boundary(std::string const& what, F const& f) {
    try {
        return f();
    } catch (c10::OutOfMemoryError const& error) {
        return Error{Errc::out_of_memory, error.what_without_backtrace()};
    } catch (c10::DistError const& error) {
        return Error{Errc::unreachable, error.what_without_backtrace()};
    } catch (c10::Error const& error) {
        std::string const why = error.what_without_backtrace();
        bool const memory = why.find("DefaultCPUAllocator") != std::string::npos;
        return Error{memory ? Errc::out_of_memory : Errc::io, "LibTorch: " + why};
    } catch (std::exception const& error) {
        return Error{Errc::io, what + ": " + error.what()};
    }
}

}  // namespace osora::worker
