// A benchmark has no caller to hand an error to.
#pragma once

#include "base/result.hpp"

#include <stdexcept>
#include <utility>

namespace osora::bench {

template <class T>
T must(Result<T> result) {
    if (result.has_error()) throw std::runtime_error(result.error().message);
    return std::move(*result);
}

}  // namespace osora::bench
