// The part of the simulation in the gate: osora-sim runs more seeds.
#include "tests/kit/size.hpp"
#include "tests/sim/simulate.hpp"

#include <gtest/gtest.h>

namespace osora::sim {
namespace {

/// Nor does a controller notice that a clock jumps by hours, forward and back: the fault matrix of
/// real machines cannot do that to one of them.
TEST(Simulation, NoSeedBreaksAnInvariant) {
    int const seeds = tests::test_size("OSORA_SIM_SEEDS", 500);
    int faults = 0, jumps = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        SimResult const result = simulate(seed, 16, false);
        std::string const& summary = result.summary;
        faults += result.faults_fired;
        for (std::string const& each : result.violations) {
            ADD_FAILURE() << each << "\n  " << summary << "\n  " << replay_command(seed, 16);
        }
        bool const jump_alone = result.faults_fired == 1 && summary.starts_with("jump clock; ") &&
                                summary.find("not fired") == summary.npos;
        if (jump_alone) {
            ++jumps;
            EXPECT_TRUE(summary.starts_with("jump clock; ok after 0 of "))
                << summary << "\n  " << replay_command(seed, 16);
        }
        if (HasFailure()) break;
    }
    EXPECT_GT(faults, seeds * 8 / 10);
    EXPECT_GT(jumps, seeds / 100);
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
