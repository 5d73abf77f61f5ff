// Tensor names of LoRA trainers: peft, diffusers, kohya's sd-scripts and ComfyUI. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::worker {

enum class AdapterPart { a, b, alpha };

struct AdapterName {
    std::string layer;  // of the network, without the trainer's prefix
    AdapterPart part = AdapterPart::a;
    bool underscored = false;  // kohya: dots of the layer's name became underscores
    bool needs_alpha = false;  // peft: its config has it; the others use 1 if there is none
};
/// invalid_input: a part of another kind of adapter (DoRA, LoHa, LoKr, OFT, LoCon), or of a text
/// encoder, or no part of an adapter; the message names the tensor.
[[nodiscard]] Result<AdapterName> adapter_name(std::string_view name);

}  // namespace osora::worker
