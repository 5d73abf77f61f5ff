#include "worker/cases/t5_case.hpp"

#include "worker/cases/text_inputs.hpp"
#include "worker/text/t5_files.hpp"

namespace osora::worker {
namespace {

constexpr std::int64_t kLengthMax = 1 << 14;  // the bias of a head has length^2 numbers

}  // namespace

CaseResult run_t5(CaseFile const& file) {
    OSORA_TRY(T5Config const config, parse_t5_config(file.config));
    OSORA_TRY(auto const text, text_case(file, "t5", {config.vocab_size, kLengthMax}));
    T5Encoder encoder(config, text.weights.front().tensor.options());
    auto loaded = encoder.parameters().load(t5_encoder_tensors(text.weights));
    if (loaded.has_error()) return std::move(loaded).error().in("t5");
    std::vector<NamedTensor> outputs;
    for (TextInput const& input : text.inputs) {
        outputs.push_back({input.out + "last_hidden_state", encoder(input.ids, input.mask)});
    }
    return outputs;
}

}  // namespace osora::worker
