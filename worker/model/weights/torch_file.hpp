// Reads weights written by torch.save (torch_records.hpp). The pickle is parsed here
// (torch_pickle.hpp), which runs no code of the file, and each tensor is checked against the bytes
// of its own record before it is made.
#pragma once

#include "base/result.hpp"
#include "worker/model/weights/loaded_weights.hpp"

#include <filesystem>
#include <string_view>

namespace osora::worker {

/// Whether the name is that of a torch.save file: .pt, .pth, .ckpt, .bin.
[[nodiscard]] bool is_torch_file(std::filesystem::path const& path);

/// The tensors of the set `set` of a file (torch_sets.hpp; "": the only one). Copies in memory.
/// corrupt: not such an archive, cut off, of the other byte order, or a tensor that reaches beyond
/// its record; invalid_input: not a regular file, several sets (the message lists them), or
/// something that only Python can read (a module, tensors that are quantized or sparse): the
/// message has the command that converts the file.
[[nodiscard]] Result<LoadedWeights> load_torch_file(std::filesystem::path const& path,
                                                    std::string_view set = {});

}  // namespace osora::worker
