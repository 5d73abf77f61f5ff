// Results as the programs of nccl-tests (and rccl-tests) print them, as the CSV of parse_sweep().
// Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::topology {

/// Whether `text` has nccl-tests' table: a line "# size count type redop ...".
[[nodiscard]] bool is_nccl_tests_log(std::string_view text);

/// CSV with collective, ranks, nodes, size_bytes, time_us (out-of-place), dtype, gpu,
/// nccl_version, run (a log may have several) and row, for parse_sweep() and parse_samples(): equal
/// times of a size are two measurements.
///
/// Ranks and nodes are those under "Using devices". The collective is named by a line before the
/// table (a command line, "# Collective test starting: all_gather_perf"), else it follows from
/// busbw / algbw where only one is possible: sums that all ranks get. Labels of `srun -l` and
/// mpirun and all other lines are ignored.
///
/// invalid_input: no list of ranks, one rank, a collective that is not known or has other
/// bandwidths; not_found: a table without results.
[[nodiscard]] Result<std::string> csv_of_nccl_tests(std::string_view log);

}  // namespace osora::topology
