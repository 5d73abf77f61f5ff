// Parses what srun prints while a step runs: which of its tasks ended, and how. Slurm keeps a
// single exit code for all of them, so its messages are parsed. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

struct TaskEnd {
    std::vector<int> tasks;  // of the step; one for each node: the index of the node
    int exit_code = 0;       // meaningful when signal is 0
    int signal = 0;
    friend bool operator==(TaskEnd const&, TaskEnd const&) = default;
};
struct StepLine {
    std::vector<TaskEnd> ended;           // at most one for a line
    std::vector<std::string> nodes_lost;  // "Node failure on n3"
};

/// One line of srun's stderr; empty for any other line.
[[nodiscard]] StepLine parse_step_line(std::string_view line);

/// Why a step was not started, from srun's stderr: the first error without its prefix; "" = none.
[[nodiscard]] std::string first_error(std::string_view output);

/// Whether an error of srun is about the host that it was to run on, rather than about the job
/// (ended, cancelled) or Slurm's own servers.
[[nodiscard]] bool blames_host(std::string_view error);

}  // namespace osora::slurm
