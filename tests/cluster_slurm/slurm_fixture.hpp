// A user on the login node of a bed: a run file, osora, and the result of a run.
#pragma once

#include "tests/cluster/user.hpp"

#include <string>

namespace osora::cluster {

class SlurmTest : public UserTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 5}); }
    void TearDown() override;

    /// FOLDER/run.toml: `nodes` x `ranks` mock ranks, 10 ms a step, checkpoint every 10 steps.
    struct RunFile {
        int nodes = 4, ranks = 2, steps = 40;
        std::string more = {};   // at the end
        std::string extra = {};  // under [resources]
        int hold_at = -1;        // every rank waits before this step for run().release()
        double lost_after_s = tests::kPatience_s;  // silence of an agent
    };
    void write_run_file(RunFile const& run) const;
};

}  // namespace osora::cluster
