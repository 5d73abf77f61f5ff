// [probe] of the run file: links are measured before a run on several nodes starts.
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct ProbeSection {
    std::string before_start = "auto";  // auto | always | never
    double max_age_h = 24;              // auto: an older measurement of the same nodes suffices
    bool exclude = true;                // a slow node is left out while there are spares
};
BOOST_DESCRIBE_STRUCT(ProbeSection, (), (before_start, max_age_h, exclude))

}  // namespace osora::plan
