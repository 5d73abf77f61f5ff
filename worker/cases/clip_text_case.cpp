#include "worker/cases/clip_text_case.hpp"

#include "worker/cases/text_inputs.hpp"
#include "worker/text/clip_text_encoder.hpp"

namespace osora::worker {

CaseResult run_clip_text(CaseFile const& file) {
    OSORA_TRY(ClipTextConfig const config, parse_clip_text_config(file.config));
    OSORA_TRY(auto const text,
              text_case(file, "clip_text", {config.vocab_size, config.max_position_embeddings}));
    ClipTextEncoder encoder(config, text.weights.front().tensor.options());
    auto loaded = encoder.parameters().load(text.weights);
    if (loaded.has_error()) return std::move(loaded).error().in("clip_text");
    std::vector<NamedTensor> outputs;
    for (TextInput const& input : text.inputs) {
        auto const encoded = encoder(input.ids, input.mask);
        outputs.push_back({input.out + "last_hidden_state", encoded.hidden});
        outputs.push_back({input.out + "pooler_output", encoded.pooled});
    }
    return outputs;
}

}  // namespace osora::worker
