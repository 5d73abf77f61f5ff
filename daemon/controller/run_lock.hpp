// One controller for each run: an flock on RUN_DIR/controller.lock, held while the process lives.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"
#include "protocol/run_directory.hpp"

namespace osora::daemon {

class RunLock {
public:
    /// busy: another controller has it; the message names its process and host.
    [[nodiscard]] static Result<RunLock> take(protocol::RunPaths const& paths);

private:
    explicit RunLock(Descriptor file) : file_(std::move(file)) {}
    Descriptor file_;
};

}  // namespace osora::daemon
