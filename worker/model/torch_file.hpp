// Weights that torch.save wrote: a zip archive with a pickle. LibTorch reads the archive; the
// pickle is read here (torch_pickle.hpp), which runs no code of the file, and each tensor is
// checked against the bytes of its own record before it is made.
#pragma once

#include "base/result.hpp"
#include "worker/model/parameters.hpp"

#include <filesystem>
#include <vector>

namespace osora::worker {

/// Whether files of this name are torch.save's: .pt, .pth, .ckpt, .bin.
[[nodiscard]] bool is_torch_file(std::filesystem::path const& path);

/// The tensors of a dict {name: tensor}, or of the one such dict that the outer one holds
/// ({"state_dict": {...}, "epoch": 3}). Copies in memory. corrupt: no such archive, cut off, of the
/// other byte order, or a tensor that reaches beyond its record; invalid_input: not a regular file,
/// or what it holds is not such a dict (an OrderedDict, a module, several dicts, tensors that are
/// quantized or sparse); the message says how to convert the file.
[[nodiscard]] Result<std::vector<NamedTensor>> load_torch_file(std::filesystem::path const& path);

}  // namespace osora::worker
