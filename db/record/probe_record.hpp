// The measurements of a run with job = "probe", as stored in the history. Nodes are numbers of the
// run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db {

struct ProbeNode {
    int node = 0;
    std::string hostname, leaf;  // "" = not known
    double gbit_s = 0, of_median = 0;
    int samples = 0;
    bool bad = false;
};
/// One transfer; a second network has a name.
struct ProbeTransfer {
    std::string stage, network;
    int round = 0, from = -1, to = -1;
    std::int64_t size_bytes = 0;
    double seconds = 0;
};
struct ProbeTrouble {
    std::string kind, place, evidence;
};
struct ProbeRecord {
    std::vector<ProbeNode> nodes;  // ascending
    std::vector<ProbeTransfer> transfers;
    std::vector<ProbeTrouble> findings;
};

}  // namespace osora::db
