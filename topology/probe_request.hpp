// The measurements that a run with job = "probe" should make: RUN_DIR/probe/request.json, read by
// every prober.
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
    bool networks = true;  // also networks that ranks do not meet on
    std::uint64_t seed = 1;
    int streams = 4;
    double warm_s = 0.1, window_s = 0.4;
    std::map<std::string, std::string> leaves;  // by host name; if empty: as Slurm says
    std::vector<std::string> storage_paths;     // files or folders to read; empty: none
    double storage_s = 1.0;                     // of reading, alone and all at once
    double limit_s = 240;                       // the result is what was measured by then
};

BOOST_DESCRIBE_STRUCT(ProbeRequest, (),
                      (token, matchings, all_pairs, networks, seed, streams, warm_s, window_s,
                       leaves, storage_paths, storage_s, limit_s))

}  // namespace osora::topology
