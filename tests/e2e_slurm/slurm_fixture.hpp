// A home of its own whose PATH finds the fakes of Slurm's commands, and a run file for them.
#pragma once

#include "protocol/run_events.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <string>
#include <vector>

namespace osora::e2e_cli {

class SlurmCli : public Cli {
protected:
    void SetUp() override;
    /// 2 ranks a node, 10 ms a step, checkpoint every 10; `resources`: more lines of [resources].
    void write_slurm_file(int steps, std::string const& resources, std::string const& more = "");
    template <class T>
    [[nodiscard]] std::vector<T> events() const {
        std::vector<T> found;
        for (auto const& each : journal()) {
            if (auto const* event = std::get_if<T>(&each)) found.push_back(*event);
        }
        return found;
    }
    /// Of the controller, and of its job.
    [[nodiscard]] std::string log() const;

private:
    [[nodiscard]] std::vector<protocol::RunEvent> journal() const;
};

}  // namespace osora::e2e_cli
