#include "cli/run/stop_text.hpp"

#include <fmt/format.h>

namespace osora::cli {

bool saves_checkpoints(protocol::RunStatus const& run) {
    return !run.exec && !run.rehearsal && !run.encoding && !run.scoring;
}

std::string stopping(protocol::RunStatus const& run, std::string_view step) {
    if (run.exec) return "stopping, its ranks get SIGTERM";
    if (run.scoring) return "stopping after the clips in progress";
    return fmt::format("stopping after {}{}", step,
                       saves_checkpoints(run) ? ", with a checkpoint" : "");
}

std::string resume_hint(protocol::RunStatus const& run, int number) {
    return fmt::format("osora resume {} {}", number, run.rehearsal ? "repeats it" : "continues");
}

}  // namespace osora::cli
