// The gate's share of the simulation: osora-sim shows more.
#include "tests/sim/simulate.hpp"

#include <gtest/gtest.h>

namespace osora::sim {
namespace {

TEST(Simulation, NoSeedBreaksAnInvariant) {
    int faults = 0;
    for (std::uint64_t seed = 1; seed <= OSORA_SIM_SEEDS; ++seed) {
        SimResult const result = simulate(seed, 16, false);
        faults += result.faults_fired;
        for (std::string const& each : result.violations) {
            ADD_FAILURE() << each << "\n  " << result.summary << "\n  " << replay_command(seed, 16);
        }
        if (HasFailure()) break;
    }
    EXPECT_GT(faults, OSORA_SIM_SEEDS * 8 / 10);
}

TEST(Simulation, TheSameSeedIsTheSameRun) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(simulate(seed, 16, false).trace_hash, simulate(seed, 16, false).trace_hash);
    }
    EXPECT_NE(simulate(1, 16, false).trace_hash, simulate(2, 16, false).trace_hash);
}

TEST(Simulation, OneNodeToo) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SimResult const result = simulate(seed, 1, false);
        for (std::string const& each : result.violations) {
            ADD_FAILURE() << each << "\n  " << result.summary << "\n  " << replay_command(seed, 1);
        }
    }
}

}  // namespace
}  // namespace osora::sim
