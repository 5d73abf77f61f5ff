// RUN_DIR/slurm.json: the newest job of a run. Written by the program that submits the job (osora
// submit and resume, the batch step of the previous job), read by programs that follow the run.
#pragma once

#include "slurm/job.hpp"

#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <string>

namespace osora::slurm {

struct JobRecord {
    std::string schema = "osora.slurm_job/1";
    JobKey job;
    int followed = 0;        // previous jobs of this run since it was submitted or resumed
    bool cancelled = false;  // before it started, so the journal does not record it
    std::string after;       // folder name of the run that it waits for; "" = none
};
BOOST_DESCRIBE_STRUCT(JobRecord, (), (schema, job, followed, cancelled, after))

}  // namespace osora::slurm
