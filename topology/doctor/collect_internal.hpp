// Private to the doctor's readers: where a node's files are.
#pragma once

#include "topology/doctor/collect.hpp"

namespace osora::topology::doctor {

struct NodeSource {
    std::filesystem::path root;
    std::string name;                              // "" = its host name
    std::map<std::string, std::string> variables;  // of the environment
    bool live = false;                             // this machine: what is not there, is not there
};
[[nodiscard]] NodeEvidence read_node(NodeSource const& source);

/// counters/ and hw_counters/ of each RDMA port, with counters.before/ where an earlier reading
/// lies beside them, and the traffic class that is forced on it.
void read_counters(NodeEvidence& node, std::filesystem::path const& root);

[[nodiscard]] bool is_there(std::filesystem::path const& path);
/// A small file without white space at its ends; "" when it cannot be read.
[[nodiscard]] std::string line_of(std::filesystem::path const& file);

/// Adds what a log says: NCCL's lines, and the kernel's about GPUs.
void add_log_text(NodeEvidence& node, std::string_view text);

/// The first and the last 16 MiB of a log: NCCL tells its choices at the start, and what went wrong
/// at the end. "" when it cannot be read.
[[nodiscard]] std::string head_of(std::filesystem::path const& file);

}  // namespace osora::topology::doctor
