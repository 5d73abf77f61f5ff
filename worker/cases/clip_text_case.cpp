#include "worker/cases/clip_text_case.hpp"

#include "worker/cases/model_case.hpp"
#include "worker/cases/text_inputs.hpp"
#include "worker/text/clip_text_encoder.hpp"

namespace osora::worker {

CaseResult run_clip_text(CaseFile const& file) {
    OSORA_TRY(ClipTextConfig const config, parse_clip_text_config(file.config));
    OSORA_TRY(
        auto const inputs,
        read_text_inputs(file, "clip_text", {config.vocab_size, config.max_position_embeddings}));
    auto encoder = load_case_model<ClipTextEncoder>(file, config);
    if (encoder.has_error()) return std::move(encoder).error().in("clip_text");
    std::vector<NamedTensor> outputs;
    for (TextInput const& input : inputs) {
        auto const encoded = (*encoder)(input.ids, input.mask);
        outputs.push_back({case_name("out", input.variant, "last_hidden_state"), encoded.hidden});
        outputs.push_back({case_name("out", input.variant, "pooler_output"), encoded.pooled});
    }
    return outputs;
}

}  // namespace osora::worker
