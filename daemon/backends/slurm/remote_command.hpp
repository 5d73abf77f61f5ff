// A short program on one host of the job, through srun: its standard output, or the reason why
// there is none. Private to shells (Asio inside).
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
/// timed_out: srun was killed, and the program that it started may still run.
[[nodiscard]] boost::asio::awaitable<Result<std::string>> run_remote_command(RemoteCommand command);

/// A file in memory that holds `text`; reading starts at its beginning, writers append.
[[nodiscard]] Result<Descriptor> memory_with(std::string_view text);

}  // namespace osora::daemon
