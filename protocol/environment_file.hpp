// RUN_DIR/environment: the variables that a run was submitted with, as data (docs/rfc/002), for
// programs that Slurm or another machine starts. Pure: text in and out, byte for byte.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::protocol {

/// The limit of a launch: names, values and their '='. One variable holds at most 128 KiB - 1 byte,
/// as Linux allows any program.
inline constexpr std::size_t kEnvironmentBytesMax = 512 << 10;
inline constexpr std::size_t kVariableBytesMax = (128 << 10) - 1;

/// invalid_input names the size and the largest variable.
[[nodiscard]] Result<void> check_environment(Environment const& environment);

/// Encodes as a JSON document; checks first.
[[nodiscard]] Result<std::string> encode_environment(Environment const& environment);
[[nodiscard]] Result<Environment> decode_environment(std::string_view text);

/// The part of a submitter's environment that a job gets: all but the variables of the job or step
/// that the submitter itself ran in.
[[nodiscard]] Environment without_slurm_job(Environment const& environment);

/// The environment of sbatch: enough to find Slurm and the user's home, and nothing that
/// --export=ALL would carry into the job, which takes its environment from RUN_DIR/environment.
[[nodiscard]] Environment for_sbatch(Environment const& environment);

/// `submitted`, overridden by the variables in which Slurm (or another starter) describes this
/// process: SLURM_*, the visible devices, TMPDIR.
[[nodiscard]] Environment entered(Environment submitted, Environment const& here);

}  // namespace osora::protocol
