#include "worker/model/weights/adapter_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::worker {
namespace {

struct Ending {
    std::string_view text;
    AdapterPart part;
};
constexpr std::array kEndings{Ending{".lora_A.weight", AdapterPart::a},
                              Ending{".lora_B.weight", AdapterPart::b},
                              Ending{".lora_A.default.weight", AdapterPart::a},
                              Ending{".lora_B.default.weight", AdapterPart::b},
                              Ending{".lora_down.weight", AdapterPart::a},
                              Ending{".lora_up.weight", AdapterPart::b},
                              Ending{".lora.down.weight", AdapterPart::a},
                              Ending{".lora.up.weight", AdapterPart::b},
                              Ending{"_lora.down.weight", AdapterPart::a},
                              Ending{"_lora.up.weight", AdapterPart::b},
                              Ending{".alpha", AdapterPart::alpha}};

struct OtherKind {
    std::string_view part, name;
};
constexpr std::array kOtherKinds{OtherKind{"dora_scale", "DoRA"},
                                 OtherKind{"lora_magnitude_vector", "DoRA"},
                                 OtherKind{".hada_w", "LoHa (LyCORIS)"},
                                 OtherKind{".lokr_w", "LoKr (LyCORIS)"},
                                 OtherKind{".lora_mid.", "LoCon with a middle (LyCORIS)"},
                                 OtherKind{".oft_", "OFT"},
                                 OtherKind{".boft_", "BOFT"},
                                 OtherKind{".glora_", "GLoRA"},
                                 OtherKind{".diff", "a full difference of weights"},
                                 OtherKind{"lora_embedding_", "LoRA of embeddings"},
                                 OtherKind{".lora_B.bias", "LoRA with a bias"}};

/// The prefix before the network's own names.
struct Front {
    std::string_view text;
    bool underscored = false, needs_alpha = false;
};
constexpr std::array kFronts{Front{"base_model.model.", false, true},
                             Front{"model.diffusion_model."},
                             Front{"diffusion_model."},
                             Front{"transformer."},
                             Front{"unet."},
                             Front{"lora_unet_", true},
                             Front{"lora_transformer_", true},
                             Front{"lycoris_", true}};
constexpr std::array<std::string_view, 3> kOfText{"lora_te", "text_encoder", "te_"};

}  // namespace

Result<AdapterName> adapter_name(std::string_view name) {
    auto const other = std::ranges::find_if(
        kOtherKinds, [&](OtherKind const& each) { return name.find(each.part) != name.npos; });
    if (other != kOtherKinds.end()) {
        return invalid(fmt::format("'{}' is of {}: only plain LoRA is read", name, other->name));
    }
    auto const ending = std::ranges::find_if(
        kEndings, [&](Ending const& each) { return name.ends_with(each.text); });
    if (ending == kEndings.end()) {
        return invalid(fmt::format("'{}' is not part of a LoRA adapter", name));
    }
    if (std::ranges::any_of(kOfText, [&](auto text) { return name.starts_with(text); })) {
        return invalid(
            fmt::format("'{}' changes a text encoder; take the adapter without it", name));
    }
    AdapterName found{std::string(name.substr(0, name.size() - ending->text.size())), ending->part,
                      false, false};
    // peft writes its own front around the one that a pipeline has.
    for (Front const& front : kFronts) {
        if (!found.layer.starts_with(front.text)) continue;
        found.layer.erase(0, front.text.size());
        found.underscored = front.underscored;
        found.needs_alpha = found.needs_alpha || front.needs_alpha;
        if (!front.needs_alpha) break;
    }
    constexpr std::string_view kProcessor = ".processor.";
    auto const at = found.layer.rfind(kProcessor);
    if (at != std::string::npos) found.layer.replace(at, kProcessor.size(), ".");
    return found;
}

}  // namespace osora::worker
