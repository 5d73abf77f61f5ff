// Rules about what NCCL's log alone shows: GPUs that ranks share, and warnings that no other rule
// knows.
#include "topology/doctor/rules_internal.hpp"

#include "base/text/text.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"

#include <fmt/format.h>

namespace osora::topology::doctor {

Outcome check_gpu_use(Evidence const& evidence) {
    if (!any_log(evidence)) return skip("no NCCL log");
    Outcome outcome;
    find_trouble(
        outcome, evidence, LogTrouble::duplicate_gpu,
        {.severity = Severity::fault,
         .title = "Two ranks use one GPU",
         .effect = "NCCL refuses to start",
         .fix = "one GPU for each rank: torch.cuda.set_device(LOCAL_RANK) before the first "
                "collective; look at CUDA_VISIBLE_DEVICES, --gpus-per-task and the number "
                "of ranks on the node",
         .impact = 1});
    find_trouble(outcome, evidence, LogTrouble::gpu_memory,
                 {.severity = Severity::fault,
                  .title = "NCCL found no memory on a GPU",
                  .effect = "the run fails",
                  .fix = "nvidia-smi shows who holds it, other users and ranks of an earlier run, "
                         "too; leave about 1 GiB to NCCL's buffers",
                  .impact = 1});
    return outcome;
}

namespace {

/// "Call to ibv_create_qp failed" of a line: the warning up to its first number or address.
std::string headline(std::string_view line) {
    constexpr std::size_t kBytesMax = 60, kBytesMin = 12;
    auto const text = trimmed(after(line, "NCCL WARN ").value_or(line));
    std::size_t const number = text.find_first_of("0123456789<", kBytesMin);
    std::string_view head = text.substr(0, std::min(number, kBytesMax));
    if (head.size() < text.size()) head = head.substr(0, head.find_last_of(' '));
    return std::string(trimmed(head));
}

/// PyTorch's exception is all that is known: no node's log says why. Its line names no host.
void check_exceptions(Evidence const& evidence, Outcome& outcome) {
    for (auto const& node : evidence.nodes) {
        auto const& log = node.log;
        if (!log.troubles.empty() || !log.warnings.empty() || !log.watchdogs.empty()) return;
    }
    for (auto const& node : evidence.nodes) {
        if (node.log.exception.empty()) continue;
        Finding found{.severity = Severity::warning,
                      .title = "PyTorch ended with an error of NCCL",
                      .seen = "log: " + node.log.exception,
                      .effect = "the log does not say why",
                      .fix = "run it again with NCCL_DEBUG=INFO",
                      .impact = 0.2};
        if (evidence.nodes.size() == 1) found.nodes = {node.name};
        outcome.findings.push_back(std::move(found));
        return;
    }
}

}  // namespace

Outcome check_warnings(Evidence const& evidence) {
    if (!any_log(evidence)) return skip("no NCCL log");
    constexpr std::size_t kShown = 4;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        // Beside a failure that is known, more warnings only follow it.
        bool const follows = !node.log.troubles.empty();
        std::size_t shown = 0;
        for (auto const& [words, line] : node.log.warnings) {
            auto const left = static_cast<std::int64_t>(node.log.warnings.size() - shown) - 1;
            bool const is_last = ++shown == kShown && node.log.warnings.size() > kShown;
            outcome.findings.push_back(
                {.severity = follows ? Severity::info : Severity::warning,
                 .nodes = {node.name},
                 .title = "NCCL warned: " + headline(line),
                 .seen = "log: " + line +
                         (is_last ? fmt::format("; {} more", counted(left, "warning")) : ""),
                 .effect = follows ? "it may follow from the rest"
                                   : "not known to osora: the run may have failed or hung here",
                 .fix = follows ? "" : "read the lines around it in the rank's log",
                 .impact = follows ? 0.0 : 0.15});
            if (is_last) break;
        }
    }
    check_exceptions(evidence, outcome);
    return outcome;
}

}  // namespace osora::topology::doctor
