// The instructions for a worker: job.json in the run directory, the same for every rank and every
// restart. A rank gets its identity from its environment (RANK, LOCAL_RANK, WORLD_SIZE,
// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, OSORA_ATTEMPT, OSORA_AGENT_FD, OSORA_STORE_FD).
#pragma once

#include "plan/collective_request.hpp"
#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"
#include "plan/rehearsal.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::plan {

/// A [[stage]]: the run file from at_step on. Its plan is at the same index in plan.stages.
struct JobStage {
    int at_step = 0;
    bool new_rate = false;  // the learning rate restarts at at_step
    RunConfig config;
};
BOOST_DESCRIBE_STRUCT(JobStage, (), (at_step, new_rate, config))

struct WorkerJob {
    int version = 1;
    std::string run_uuid;
    std::string run_name;  // "stdit3-stage1-0042"
    std::string run_dir;   // absolute; checkpoints are in RUN_DIR/checkpoints
    std::string base_dir;  // folder of the run file: base of its relative paths
    RunConfig config;
    PlanDecision plan;
    std::vector<JobStage> stages;
    std::vector<BucketCompute> rehearsal;  // job = "rehearse": of each bucket of the run file
    CollectiveRequest collectives;  // job = "probe": by osora-worker; none: links, by osorad prober
};
BOOST_DESCRIBE_STRUCT(WorkerJob, (),
                      (version, run_uuid, run_name, run_dir, base_dir, config, plan, stages,
                       rehearsal, collectives))

/// Whether the agents' own probers do the job, not osora-worker.
[[nodiscard]] inline bool is_link_probe(WorkerJob const& job) {
    return job.config.run.job == "probe" && job.collectives.collectives.empty();
}

}  // namespace osora::plan
