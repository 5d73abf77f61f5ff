// The tuner plug-in as NCCL takes it: loaded by its name, with a logger that remembers.
#pragma once

#include "scheduler_plugins/nccl_tuner/tuner_abi.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

namespace osora::tuner {

inline std::vector<std::string>& log_lines() {
    static std::vector<std::string> lines;
    return lines;
}

inline void remember(int /*level*/, unsigned long /*flags*/, char const* /*file*/, int /*line*/,
                     char const* format, ...) {
    std::array<char, 2048> text{};
    va_list values;
    va_start(values, format);
    std::vsnprintf(text.data(), text.size(), format, values);
    va_end(values);
    log_lines().emplace_back(text.data());
}

template <class Plugin>
Plugin const& plugin(char const* symbol) {
    static void* const library = ::dlopen(OSORA_NCCL_TUNER, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) ADD_FAILURE() << ::dlerror();
    auto const* found = static_cast<Plugin const*>(::dlsym(library, symbol));
    if (found == nullptr) ADD_FAILURE() << symbol;
    return *found;
}
inline tuner_v3 const& v3() {
    return plugin<tuner_v3>("ncclTunerPlugin_v3");
}
inline tuner_v4 const& v4() {
    return plugin<tuner_v4>("ncclTunerPlugin_v4");
}
inline tuner_v5 const& v5() {
    return plugin<tuner_v5>("ncclTunerPlugin_v5");
}
inline tuner_v6 const& v6() {
    return plugin<tuner_v6>("ncclTunerPlugin_v6");
}

/// NCCL's table: one block, below zero where a way is not to be taken.
using Costs = std::array<float, TUNER_ALGOS * TUNER_PROTOS>;

/// As NCCL chooses; -1: nothing can be taken.
inline int cheapest(Costs const& costs) {
    int best = -1;
    for (int i = 0; i < TUNER_ALGOS * TUNER_PROTOS; ++i) {
        float const cost = costs[static_cast<std::size_t>(i)];
        if (cost >= 0 && (best < 0 || cost < costs[static_cast<std::size_t>(best)])) best = i;
    }
    return best;
}

}  // namespace osora::tuner
