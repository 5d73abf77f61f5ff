// [tune] of the run file: what a run may try while it trains.
#pragma once

#include <boost/describe.hpp>

namespace osora::plan {

struct TuneSection {
    bool progressive = false;  // other micro-batches and less recomputing
};
BOOST_DESCRIBE_STRUCT(TuneSection, (), (progressive))

}  // namespace osora::plan
