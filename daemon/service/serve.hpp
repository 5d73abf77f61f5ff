// `osorad serve`: the daemon. Keeps a controller process alive for each of its runs, and recognises
// them after its own death (docs/rfc/001): the controllers survive it.
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <string>

namespace osora::daemon {

struct ServeOptions {
    std::filesystem::path state_dir;  // absolute
    std::filesystem::path osorad;     // this program
    Environment environment;          // of runs that have none of their own
    std::filesystem::path runtime_dir;
    std::string notify_socket;  // $NOTIFY_SOCKET: systemd hears there that it is ready; may be ""
    std::string version;
};

/// Runs until a stop is requested; returns the exit code. busy: another daemon serves this state
/// folder.
/// Call it from the main thread.
[[nodiscard]] Result<int> run_daemon(ServeOptions options, Env& env, Logger& log);

}  // namespace osora::daemon
