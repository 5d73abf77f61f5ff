// `osorad serve`: the daemon. Keeps a controller process alive for each run that it was given, and
// knows them again after its own death (docs/rfc/001): the controllers live on without it.
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
    Environment environment;          // of runs that bring none
    std::filesystem::path runtime_dir;
    std::string notify_socket;  // $NOTIFY_SOCKET: systemd is told when it is ready; may be empty
    std::string version;
};

/// Runs until it is asked to stop; the exit code. busy: another daemon serves this state folder.
/// Call it from the main thread.
[[nodiscard]] Result<int> run_daemon(ServeOptions options, Env& env, Logger& log);

}  // namespace osora::daemon
