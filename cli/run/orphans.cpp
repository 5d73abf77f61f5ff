// Processes of a run are known by OSORA_RUN_UUID in their environment.
#include "cli/run/orphans.hpp"

#include "base/process/marked_processes.hpp"
#include "base/process/process.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<ProcessId> processes_of(std::string const& run_uuid) {
    if (run_uuid.empty()) return {};
    return processes_marked({"OSORA_RUN_UUID=" + run_uuid});
}

}  // namespace

Orphans orphans_of(protocol::RunView const& view) {
    Orphans left;
    for (auto const& node : view.status.nodes) {
        bool const counted = node.processes_left >= 0;
        left.nodes += counted ? 1 : 0;
        left.uncounted += counted ? 0 : 1;
        left.processes += std::max(node.processes_left, 0);
    }
    int const here = static_cast<int>(processes_of(view.run_uuid).size());
    left.processes = std::max(left.processes, here);
    return left;
}

std::string orphans_text(Orphans const& left) {
    std::string text = fmt::format("{} left on {}", counted(left.processes, "process"),
                                   counted(left.nodes, "node"));
    if (left.uncounted > 0) {
        text += fmt::format(" ({} could not be asked)", counted(left.uncounted, "node"));
    }
    return text;
}

int end_processes(std::string const& run_uuid, double grace_s) {
    auto const first = processes_of(run_uuid);
    for (ProcessId const& each : first) signal_process(each, SIGTERM);
    auto const kill_at = Clock::now() + std::chrono::duration<double>(grace_s);
    auto const give_up = kill_at + std::chrono::seconds(2);
    while (Clock::now() < give_up) {
        auto const living = processes_of(run_uuid);
        if (living.empty()) break;
        if (Clock::now() >= kill_at) {
            for (ProcessId const& each : living) signal_process(each, SIGKILL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return static_cast<int>(first.size());
}

}  // namespace osora::cli
