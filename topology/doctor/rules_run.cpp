// Rules about the parts of a run's step, and about its restart: rows 21 and 28, requeue.
#include "topology/doctor/rules_internal.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

namespace osora::topology::doctor {

Outcome check_small_collectives(Evidence const& evidence) {
    if (!evidence.run) return skip("no run");
    auto const& run = *evidence.run;
    Outcome outcome;
    std::string const exposed = run.exposed_comm_share > 0
                                    ? fmt::format("; {:.0f} % of the step is exposed communication",
                                                  100 * run.exposed_comm_share)
                                    : "";
    if (run.ranks < 2) return skip("one rank");
    if (run.collectives == "per_parameter") {
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .title = "A collective for each parameter",
             .seen = "debug.collectives = \"per_parameter\"" + exposed,
             .effect = "hundreds of small collectives a step: 7 -> 14 s/step at 128 ranks",
             .fix = "--set debug.collectives=bucketed",
             .impact = std::max(0.5, run.exposed_comm_share)});
    } else if (run.grad_bucket_mib > 0 && run.grad_bucket_mib < 4 && run.nodes > 1) {
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .title = fmt::format("Gradient buckets of {:.3g} MiB", run.grad_bucket_mib),
             .seen = "parallel.grad_bucket_mib" + exposed,
             .effect = "1,000 x 4 MB take three times as long as 1 x 4 GB",
             .fix = "--set parallel.grad_bucket_mib=auto, or 25 and more",
             .impact = std::max(0.2, run.exposed_comm_share)});
    }
    return outcome;
}

Outcome check_straggler(Evidence const& evidence) {
    if (!evidence.run) return skip("no run");
    auto const& run = *evidence.run;
    Outcome outcome;
    if (run.late_rank >= 0 && run.late_share >= 0.03) {
        std::vector<std::string> nodes;
        if (!run.late_node.empty()) nodes.push_back(run.late_node);
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = std::move(nodes),
             .title = fmt::format("Rank {} computes longer than the others: not the network",
                                  run.late_rank),
             .seen = fmt::format("last to arrive in {} of {} steps, {:.0f} % of the step late",
                                 run.late_steps, run.of_steps, 100 * run.late_share),
             .effect = "the others wait in collectives, which then look slow",
             .fix = "look at its GPU's clocks and its CPUs; unequal buckets: "
                    "--set debug.bucket_schedule=balanced",
             .impact = run.late_share});
    }
    if (run.data_wait_share >= 0.05) {
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .title = "Ranks wait for data",
             .seen = fmt::format("{:.0f} % of the step", 100 * run.data_wait_share),
             .effect = "the GPUs idle for that time",
             .fix = "--set data.num_workers=auto; osora data bench; cache latents",
             .impact = run.data_wait_share});
    }
    return outcome;
}

Outcome check_requeue(Evidence const& evidence) {
    if (!evidence.slurm) return skip("no Slurm");
    auto const& slurm = *evidence.slurm;
    Outcome outcome;
    if (!slurm.job_requeue) {
        outcome.findings.push_back({.severity = Severity::warning,
                                    .title = "Slurm does not requeue jobs here (JobRequeue=0)",
                                    .seen = "scontrol show config",
                                    .effect = "a run whose node fails ends with its job",
                                    .fix = "sbatch --requeue, or JobRequeue=1 in slurm.conf",
                                    .impact = 0.1});
    }
    int const wait_s = slurm.cred_expire_s + 1;
    bool const long_wait = slurm.cred_expire_s > 120;
    outcome.findings.push_back(
        {.severity = long_wait ? Severity::warning : Severity::info,
         .title =
             fmt::format("A requeued job waits {} before it starts again", format_seconds(wait_s)),
         .seen = fmt::format("AuthInfo cred_expire={}", slurm.cred_expire_s),
         .effect =
             "only when a relaunch in the allocation, a spare and a dependent job (~4 s) fail",
         .fix = "keep resources.spares = 1, or AuthInfo=cred_expire=30 in slurm.conf",
         .impact = long_wait ? 0.05 : 0});
    return outcome;
}

}  // namespace osora::topology::doctor
