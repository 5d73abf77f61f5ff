// Which of the submitter's variables are sent to workers on other hosts. Pure.
#pragma once

#include "base/environment.hpp"
#include "protocol/json.hpp"

#include <vector>

namespace osora::daemon {

/// All except those that describe this machine, this login or this terminal: HOME, HOSTNAME, SSH_*,
/// SLURM_*... They travel as bytes, in their order.
[[nodiscard]] std::vector<protocol::Bytes> environment_to_send(Environment const& environment);

}  // namespace osora::daemon
