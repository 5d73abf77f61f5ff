// Private to cli/: what osora nccl fit, model and predict share.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/command/command.hpp"
#include "topology/collectives/collective_samples.hpp"
#include "topology/nccl/nccl_model.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// invalid_input names the file, also for a missing one: it is not missing data.
[[nodiscard]] Result<std::string> read_nccl_file(std::string const& file);
/// The same; what nccl-tests printed becomes CSV.
[[nodiscard]] Result<std::string> read_measurements(std::string const& file);
/// Errors name the file.
[[nodiscard]] Result<std::vector<topology::SampleGroup>> read_samples(std::string const& file);
/// Groups of the CSV; with `machine`, those of that topology only.
[[nodiscard]] Result<std::vector<topology::NcclGroup>> read_graphs(
    std::string const& file, std::optional<std::string> const& machine = {});
/// "1M,32MiB,1073741824"
[[nodiscard]] Result<std::vector<std::int64_t>> parse_sizes(std::string const& list);
/// --nccl-version, else the newest that is known.
[[nodiscard]] Result<topology::NcclVersion> nccl_version(Arguments const& arguments);

/// "12.3 us", "4.21 ms": three digits.
[[nodiscard]] std::string microseconds(double time_us);
/// "all_reduce · 8 ranks on 1 node"
[[nodiscard]] std::string group_title(topology::Collective collective,
                                      topology::GroupShape const& shape);

[[nodiscard]] OptionSpec samples_option();
[[nodiscard]] OptionSpec graphs_option();
[[nodiscard]] OptionSpec nccl_version_option();
/// --collective, --ranks, --nodes.
[[nodiscard]] OptionSpec collective_option();
[[nodiscard]] OptionSpec ranks_option();
[[nodiscard]] OptionSpec nodes_option();

/// The exit code for an error of these commands: not enough data is undecided.
[[nodiscard]] int nccl_exit_code(Error const& error);

}  // namespace osora::cli
