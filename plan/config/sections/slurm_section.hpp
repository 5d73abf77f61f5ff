// [slurm] of a run file: how nodes are requested (slurm/job_script.hpp).
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::plan {

struct SlurmSection {
    std::string partition, account, qos, constraint, reservation, container;
    std::vector<std::vector<std::string>> prolog;
    std::vector<std::string> extra;
    std::string gpus = "auto";  // auto: resources.gpus_per_node; none; "4"; "h100:8"
    int chain = 3;              // jobs that may follow when one ends before the run is over
};
BOOST_DESCRIBE_STRUCT(SlurmSection, (),
                      (partition, account, qos, constraint, reservation, container, prolog, extra,
                       gpus, chain))

}  // namespace osora::plan
