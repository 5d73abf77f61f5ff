// Private to the doctor's readers: the location of a node's files.
#pragma once

#include "topology/doctor/collect.hpp"

namespace osora::topology::doctor {

struct NodeSource {
    std::filesystem::path root;
    std::string name;                              // "" = its host name
    std::map<std::string, std::string> variables;  // of the environment
    bool live = false;                             // this machine: a missing file means that the
                                                   // thing does not exist
};
[[nodiscard]] NodeEvidence read_node(NodeSource const& source);

/// Reads counters/ and hw_counters/ of each RDMA port, with counters.before/ if an earlier reading
/// is beside them, and the traffic class that is forced on it.
void read_counters(NodeEvidence& node, std::filesystem::path const& root);

[[nodiscard]] bool is_there(std::filesystem::path const& path);
/// Content of a small file without white space at its ends; "" if it cannot be read.
[[nodiscard]] std::string line_of(std::filesystem::path const& file);

/// Adds facts from a log: NCCL's lines, and the kernel's about GPUs.
void add_log_text(NodeEvidence& node, std::string_view text);

/// The first and the last 16 MiB of a log: NCCL logs its choices at the start, and errors at the
/// end. "" if it cannot be read.
[[nodiscard]] std::string head_of(std::filesystem::path const& file);

}  // namespace osora::topology::doctor
