#include "worker/cases/t5_case.hpp"

#include "worker/cases/model_case.hpp"
#include "worker/cases/text_inputs.hpp"
#include "worker/text/t5_files.hpp"

namespace osora::worker {
namespace {

constexpr std::int64_t kLengthMax = 1 << 14;  // the bias of a head has length^2 numbers

}  // namespace

CaseResult run_t5(CaseFile const& file) {
    OSORA_TRY(T5Config const config, parse_t5_config(file.config));
    OSORA_TRY(auto const inputs, read_text_inputs(file, "t5", {config.vocab_size, kLengthMax}));
    OSORA_TRY(auto const type, case_type(file));
    auto encoder =
        load_checked_model<T5Encoder>(config, type, t5_encoder_tensors(case_weights(file)));
    if (encoder.has_error()) return std::move(encoder).error().in("t5");
    std::vector<NamedTensor> outputs;
    for (TextInput const& input : inputs) {
        outputs.push_back({case_name("out", input.variant, "last_hidden_state"),
                           (*encoder)(input.ids, input.mask)});
    }
    return outputs;
}

}  // namespace osora::worker
