// A short program on one host of the job, through srun: its standard output, or why there is none.
// Private to shells (Asio inside).
#pragma once

#include "base/environment.hpp"
#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::daemon {

struct RemoteCommand {
    std::filesystem::path srun;
    std::vector<std::string> arguments;
    Environment environment;
    std::string input;
    double limit_s = 6;
};
/// timed_out: srun was killed, and what it started may still run.
[[nodiscard]] boost::asio::awaitable<Result<std::string>> run_remote_command(RemoteCommand command);

/// A file in memory that holds `text`, to be read from its start; appended to by who writes.
[[nodiscard]] Result<Descriptor> memory_with(std::string_view text);

}  // namespace osora::daemon
