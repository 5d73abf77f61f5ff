// LoRA adapters in files, as peft, diffusers, kohya's sd-scripts and ComfyUI write them
// (adapter_names.hpp), and merging them into weights. Pure, except for reading the files.
#pragma once

#include "worker/model/parameters.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

inline constexpr char const* kAdapterFile = "adapter_model.safetensors";
inline constexpr char const* kAdapterConfigFile = "adapter_config.json";

/// "base_model.model.NAME", the name of a tensor in a peft file, and back (a name without the
/// prefix is kept).
[[nodiscard]] std::string peft_name(std::string_view name);
[[nodiscard]] std::string plain_name(std::string_view name);

/// The text of adapter_config.json for these adapters (plain or peft names).
[[nodiscard]] std::string adapter_config(std::vector<NamedTensor> const& adapter, double alpha);

struct LoadedAdapter {
    std::vector<NamedTensor> tensors;  // plain names: NAME.lora_A.weight, NAME.lora_B.weight
    double scale = 1;                  // alpha / rank
    std::map<std::string, double> scales = {};  // for layers with a separate value, by NAME
    bool underscored = false;                   // NAME has underscores for dots
    std::vector<std::string> notices = {};      // for people
};
/// `path`: a folder with an adapter file, or a safetensors file. alpha comes from
/// adapter_config.json beside it, else the file's metadata, else its tensors NAME.alpha, else it is
/// the rank. Kinds of adapters other than plain LoRA are named and rejected; so is a peft file
/// without its config.
[[nodiscard]] Result<LoadedAdapter> load_adapter(std::filesystem::path const& path);

/// weight + scale lora_B lora_A, added in fp32 and rounded to the type of the weight; other tensors
/// unchanged. invalid_input names an adapter without its weight, or with another shape.
[[nodiscard]] Result<std::vector<NamedTensor>> merge_adapter(std::vector<NamedTensor> weights,
                                                             LoadedAdapter const& adapter);

}  // namespace osora::worker
