// A run from a seed, for the program and the tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace osora::sim {

struct SimResult {
    std::vector<std::string> violations;
    std::uint64_t trace_hash = 0;
    double virtual_s = 0;
    int faults_fired = 0;
    std::string summary;  // faults and end, one line
};

[[nodiscard]] SimResult simulate(std::uint64_t seed, int agents, bool print);

/// The command that replays `seed`.
[[nodiscard]] std::string replay_command(std::uint64_t seed, int agents);

}  // namespace osora::sim
