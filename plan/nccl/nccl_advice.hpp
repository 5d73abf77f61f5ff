// The settings of NCCL and Gloo that a run should have, per node if nodes differ, and why: from
// facts of the machines, the probe, the user's [nccl] section and what ranks would inherit. The
// user's value always wins; osora never sets class B. Pure (docs/rfc/009).
#pragma once

#include "topology/fabric.hpp"
#include "topology/machine.hpp"
#include "topology/nccl/inherited_setting.hpp"
#include "topology/probe_result.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// Machine::source of a node that only the probe knows: its cards are unknown.
constexpr char const* kProbeOnly = "probe";

/// A value that a user wrote, and its place: "run file: run.toml:41".
struct OwnSetting {
    std::string value, place;
};

/// A setting that a node's ranks would inherit; `node` "" = the same on all nodes.
struct NodeInherited {
    std::string node;
    std::vector<topology::InheritedSetting> settings;
};

/// Facts of a node that are not in Machine.
struct NodeExtras {
    std::string allowed_cpus;   // CPUs of all ranks: "0-31"; "" = unknown
    std::string topology_file;  // for NCCL, found on the node; "" = none
};

struct AdviceInputs {
    std::vector<topology::Machine> machines;  // the run's nodes, as far as known
    topology::Fabric fabric;
    std::optional<topology::ProbeResult> probe;
    std::map<std::string, OwnSetting> own;  // by name
    std::vector<NodeInherited> inherited;
    std::map<std::string, NodeExtras> extras;  // by node
    bool gpu = true;                           // NCCL and Gloo; false: only Gloo
    int nccl_version = 0;                      // as NCCL counts, 22105; 0 = not known
    int nodes = 1;                             // of the run
    std::string tuner_plugin;                  // path on every node; "" = none
};

struct AdvisedSetting {
    std::string name, value;
    char cls = 'P';      // J P S B; '-' for an unknown name
    std::string origin;  // "probe", "facts", "yours", "inherited", "default"
    std::string reason;
    std::vector<std::string> nodes;  // that get this value; empty = all
    bool preflight = false;          // only while the nodes are checked before the start
    std::string place = {};          // place of a value set by the user or inherited
};

struct InheritedAdvice {
    std::string name, value, origin;
    char cls = 'P';
    std::string advice;              // "unset it: ..."
    std::vector<std::string> nodes;  // where; empty = everywhere
};

/// Something for `osora tune --nccl` to measure.
struct SettingCandidate {
    std::string name;
    std::vector<std::string> values;
    std::map<std::string, std::string> with;  // set together with it
    std::string reason, when;                 // why it may help; when it applies
};

struct NcclAdvice {
    std::vector<AdvisedSetting> settings;  // by name, then in the order of the nodes
    std::vector<InheritedAdvice> inherited;
    std::vector<SettingCandidate> candidates;
    std::vector<std::string> warnings;
};

[[nodiscard]] NcclAdvice advise_nccl(AdviceInputs const& inputs);

}  // namespace osora::plan
