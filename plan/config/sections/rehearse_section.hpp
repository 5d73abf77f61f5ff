// [rehearse] of the run file: what replaces the model and the loader (docs/rfc/010).
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct RehearseSection {
    AutoOr<double> compute_s;       // of a step's forward, backward and optimizer
    std::string own_work = "auto";  // "spin" keeps a CPU rank's threads busy, "sleep" none
    double data_wait_s = 0;         // in each step
    int data_wait_rank = -1;        // that waits; -1 = all
};
BOOST_DESCRIBE_STRUCT(RehearseSection, (), (compute_s, own_work, data_wait_s, data_wait_rank))

}  // namespace osora::plan
