// RUN_DIR/environment: the variables that a run was submitted with, as data (docs/rfc/002), for
// programs that Slurm or another machine starts. Pure: text in and out, byte for byte.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::protocol {

/// Of a launch: names, values and their '='. One variable holds at most 128 KiB - 1 byte, as in any
/// program that Linux starts.
inline constexpr std::size_t kEnvironmentBytesMax = 512 << 10;
inline constexpr std::size_t kVariableBytesMax = (128 << 10) - 1;

/// invalid_input names the size, and the variable that is the largest.
[[nodiscard]] Result<void> check_environment(Environment const& environment);

/// A JSON document; checks first.
[[nodiscard]] Result<std::string> encode_environment(Environment const& environment);
[[nodiscard]] Result<Environment> decode_environment(std::string_view text);

/// What of a submitter's environment a job is given: all but the variables of the job or step that
/// the submitter itself was in.
[[nodiscard]] Environment without_slurm_job(Environment const& environment);

/// What sbatch is run with: enough to find Slurm and the user's home, and nothing that --export=ALL
/// would carry into the job, where RUN_DIR/environment is what counts.
[[nodiscard]] Environment for_sbatch(Environment const& environment);

/// `submitted`, with what Slurm (or whoever started this program) has said of this very place put
/// over it: SLURM_*, the visible devices, TMPDIR.
[[nodiscard]] Environment entered(Environment submitted, Environment const& here);

}  // namespace osora::protocol
