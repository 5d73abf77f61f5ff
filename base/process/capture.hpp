// Runs another program to its end and captures its output. Blocks, with a deadline: for commands
// that answer in milliseconds (squeue, sbatch).
#pragma once

#include "base/process/process.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace osora {

struct Captured {
    ExitStatus status;
    std::string out, err;  // cut at kCapturedBytesMax each
    [[nodiscard]] bool ok() const { return status.signal == 0 && status.exit_code == 0; }
};
inline constexpr std::size_t kCapturedBytesMax = 64 << 20;

/// `options.descriptors` is set here. timed_out: it was killed, with its process group.
[[nodiscard]] Result<Captured> run_captured(SpawnOptions options, std::chrono::milliseconds limit,
                                            std::string_view input = {});

/// Searches `name` in the folders of `path` ("/usr/bin:/bin"); not_found names it.
[[nodiscard]] Result<std::filesystem::path> find_in_path(std::string_view name,
                                                         std::string_view path);

}  // namespace osora
