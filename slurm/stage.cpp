#include "slurm/stage.hpp"

#include <fmt/format.h>

namespace osora::slurm {

std::vector<std::string> stage_arguments(std::int64_t after) {
    return {fmt::format("--dependency=afterok:{}", after), "--kill-on-invalid-dep=yes"};
}

std::vector<std::string> move_stage_arguments(std::int64_t job, std::int64_t after) {
    return {"update", fmt::format("JobId={}", job), fmt::format("Dependency=afterok:{}", after)};
}

}  // namespace osora::slurm
