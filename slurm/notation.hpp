// Text for other programs: arguments in #SBATCH lines, and Slurm's times. Pure. Shell quoting is in
// base/text/shell_word.hpp.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace osora::slurm {

/// One argument of a #SBATCH line. sbatch treats a backslash as an escape everywhere and '#' as a
/// comment outside of quotes. invalid_input: a line end or another control character.
[[nodiscard]] Result<std::string> directive_word(std::string_view text);

/// A path in a file name pattern of sbatch or srun, where % starts a symbol: "%%" for "%".
[[nodiscard]] std::string output_pattern(std::string_view path);

/// "2026-11-22T14:20:00" in UTC as seconds since 1970 (the commands are run with TZ=UTC), or the
/// digits of such a number; nullopt for "N/A", "Unknown", "(null)", "" and everything else.
[[nodiscard]] std::optional<std::int64_t> parse_time(std::string_view text);

/// "D-HH:MM:SS", "HH:MM:SS", "MM:SS" or minutes, in seconds; nullopt for "UNLIMITED" and others.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

/// "00:02:11", "1-02:03:04".
[[nodiscard]] std::string format_duration(std::int64_t seconds);

}  // namespace osora::slurm
