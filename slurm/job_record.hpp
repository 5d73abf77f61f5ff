// RUN_DIR/slurm.json: the newest job of a run. Written by whoever submits it (osora submit and
// resume, the batch step of the job before), read by whoever follows the run.
#pragma once

#include "slurm/job.hpp"

#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <string>

namespace osora::slurm {

struct JobRecord {
    std::string schema = "osora.slurm_job/1";
    JobKey job;
    int followed = 0;        // jobs of this run before it, since it was submitted or resumed
    bool cancelled = false;  // before it started: the journal cannot say so
    std::string after;       // folder name of the run that it waits for; "" = none
};
BOOST_DESCRIBE_STRUCT(JobRecord, (), (schema, job, followed, cancelled, after))

}  // namespace osora::slurm
