// A temporary home whose PATH finds fakes of Slurm's commands, and a run file for them.
#pragma once

#include "tests/e2e_cli/cli_fixture.hpp"

#include <string>
#include <vector>

namespace osora::e2e_cli {

class SlurmCli : public Cli {
protected:
    void SetUp() override;
    /// 2 ranks a node, 10 ms a step, checkpoint every 10; `resources`: more lines of [resources],
    /// `more`: of [faults], and what sections follow.
    void write_slurm_file(int steps, std::string const& resources, std::string const& more = "");
    /// For `more`: every rank waits before `step` until run().release().
    [[nodiscard]] static std::string held_at(int step);
    template <class T>
    [[nodiscard]] std::vector<T> events() const {
        return run().events<T>();
    }
    /// Of the controller, and of its job.
    [[nodiscard]] std::string log() const { return run().logs(); }
};

}  // namespace osora::e2e_cli
