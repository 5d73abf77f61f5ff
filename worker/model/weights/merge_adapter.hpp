// LoRA adapters in files, as peft, diffusers, kohya's sd-scripts and ComfyUI write them
// (adapter_names.hpp), and weights with their adapters added in. Pure, but for reading the files.
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

/// "base_model.model.NAME", as a peft file calls a tensor, and back (a name without that is left).
[[nodiscard]] std::string peft_name(std::string_view name);
[[nodiscard]] std::string plain_name(std::string_view name);

/// The text of adapter_config.json for these adapters (plain or peft names).
[[nodiscard]] std::string adapter_config(std::vector<NamedTensor> const& adapter, double alpha);

struct LoadedAdapter {
    std::vector<NamedTensor> tensors;  // plain names: NAME.lora_A.weight, NAME.lora_B.weight
    double scale = 1;                  // alpha / rank
    std::map<std::string, double> scales = {};  // of layers that have one of their own, by NAME
    bool underscored = false;                   // NAME has underscores for dots
    std::vector<std::string> notices = {};      // for people
};
/// `path`: a folder with an adapter file, or a safetensors file. alpha is that of
/// adapter_config.json beside it, else of the file's metadata, else of its tensors NAME.alpha, else
/// the rank. Kinds of adapters other than plain LoRA are named and refused; so is a peft file
/// without its config.
[[nodiscard]] Result<LoadedAdapter> load_adapter(std::filesystem::path const& path);

/// weight + scale lora_B lora_A, added in fp32 and rounded to the type of the weight; the other
/// tensors as they are. invalid_input names an adapter without its weight, or of another shape.
[[nodiscard]] Result<std::vector<NamedTensor>> merge_adapter(std::vector<NamedTensor> weights,
                                                             LoadedAdapter const& adapter);

}  // namespace osora::worker
