// What a run with job = "probe" is asked to measure: RUN_DIR/probe/request.json, read by every
// prober.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osora::topology {

struct ProbeRequest {
    std::string token;  // of this probe: probers show it to each other
    int matchings = 5;
    bool all_pairs = false;
    bool networks = true;  // also those that ranks do not meet on
    std::uint64_t seed = 1;
    int streams = 4;
    double warm_s = 0.1, window_s = 0.4;
    std::map<std::string, std::string> leaves;  // by host name; where empty: what Slurm says
    std::vector<std::string> storage_paths;     // files or folders to read; empty: none
    double storage_s = 1.0;                     // of reading, alone and all at once
    double limit_s = 240;                       // what is measured by then is the answer
};

BOOST_DESCRIBE_STRUCT(ProbeRequest, (),
                      (token, matchings, all_pairs, networks, seed, streams, warm_s, window_s,
                       leaves, storage_paths, storage_s, limit_s))

}  // namespace osora::topology
