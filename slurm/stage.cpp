#include "slurm/stage.hpp"

#include <fmt/format.h>

namespace osora::slurm {

std::vector<std::string> stage_arguments(std::int64_t after, std::string const& cluster) {
    std::vector<std::string> arguments{fmt::format("--dependency=afterok:{}", after),
                                       "--kill-on-invalid-dep=yes"};
    if (!cluster.empty()) arguments.push_back("--clusters=" + cluster);
    return arguments;
}

std::vector<std::string> move_stage_arguments(std::int64_t job, std::int64_t after,
                                              std::string const& cluster) {
    std::vector<std::string> arguments{"update", fmt::format("JobId={}", job),
                                       fmt::format("Dependency=afterok:{}", after)};
    if (!cluster.empty()) arguments.insert(arguments.begin(), "--clusters=" + cluster);
    return arguments;
}

}  // namespace osora::slurm
