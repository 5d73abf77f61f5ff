// Converts a backend's exceptions to c10::DistError, which step boundaries
// (worker/train/step_boundary.hpp) treat as a lost peer. Those of LibTorch and of malloc pass.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

namespace osora::worker {

/// The value of f(). `what`: "all_gather of parameters", for the message.
template <class F>
auto with_peers(char const* what, F const& f) {
    try {
        return f();
    } catch (c10::Error const&) {
        throw;
    } catch (std::bad_alloc const&) {
        throw;
    } catch (std::exception const& error) {
        std::string const why = error.what();
        C10_THROW_ERROR(DistError, std::string(what) + ": " + why.substr(0, why.find('\n')));
    }
}

}  // namespace osora::worker
