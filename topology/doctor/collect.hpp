// Reads evidence from files below a root directory: "/" of this machine, a recorded tree of a node,
// or a folder of such trees. Facts of missing files stay "unknown".
#pragma once

#include "base/result.hpp"
#include "topology/doctor/evidence.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace osora::topology::doctor {

/// This machine, with the environment of this process.
[[nodiscard]] NodeEvidence read_this_node(std::map<std::string, std::string> const& environment);

/// A recorded tree: proc/, sys/, etc/ as on the machine, and other recorded files: environ (or
/// proc/self/environ), lspci.txt, nvidia-smi.txt (-q), dmesg.txt, versions.txt ("nccl 2.21.5"),
/// *.log and logs/*.log (NCCL's lines). `name`: "" = its host name.
[[nodiscard]] NodeEvidence read_recorded_node(std::filesystem::path const& root,
                                              std::string const& name);

/// `path` is such a tree, or has one in each sub-folder, or in nodes/NAME. With or without trees it
/// may have slurm/config.txt (scontrol show config) and logs of several hosts (*.log, *.out, *.err,
/// *.txt, nccl*), also in a folder for each node; or `path` is one log. Hosts are told apart by
/// their lines, a log that names none by its file. invalid_input: no such folder, a file without
/// lines of NCCL; not_found: nothing in it that came from a node.
[[nodiscard]] Result<Evidence> read_evidence(std::filesystem::path const& path);

/// AuthInfo and JobRequeue of `scontrol show config`, or of slurm.conf.
[[nodiscard]] SlurmEvidence parse_slurm_config(std::string const& text);

}  // namespace osora::topology::doctor
