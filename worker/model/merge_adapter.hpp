// LoRA adapters in files, under the names that Hugging Face's peft gives them, and weights with
// their adapters added in. Pure, but for reading the folder.
#pragma once

#include "worker/model/parameters.hpp"

#include <filesystem>
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
    double scale = 1;                  // lora_alpha / r
};
/// `path`: a folder with both files, or a safetensors file beside an adapter_config.json (as the
/// ema.safetensors of a checkpoint). Kinds of adapters other than plain LoRA are named and refused.
[[nodiscard]] Result<LoadedAdapter> load_adapter(std::filesystem::path const& path);

/// weight + scale lora_B lora_A, added in fp32 and rounded to the type of the weight; the other
/// tensors as they are. invalid_input names an adapter without its weight, or of another shape.
[[nodiscard]] Result<std::vector<NamedTensor>> merge_adapter(std::vector<NamedTensor> weights,
                                                             LoadedAdapter const& adapter);

}  // namespace osora::worker
