// Damaged cases: a case either runs or is refused with a message; no check fails and nothing is
// thrown. OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"
#include "worker/cases/case_table.hpp"
#include "worker/cases/model_case.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace osora::worker {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 1500);

std::vector<CaseFile> golden_cases() {
    std::vector<CaseFile> cases;
    for (char const* name :
         {"parity/A0_tables_bf16", "parity/A1_stdit3_plain", "parity/A4_stdit3_xmask",
          "parity/A8_stdit3_caption_drop", "parity/B1_timestep_transform", "parity/B3_add_noise",
          "parity/B4_training_losses", "parity/B5_timestep_sampling", "parity/B6_sampling_loop",
          "parity/F1_mmdit_t2v", "parity/F6_v2_train_step", "parity/T1_t5_encoder",
          "parity/T2_clip_text", "vae/spatial", "vae/temporal", "vae/pipeline"}) {
        CaseFile file;
        file.content =
            load_safetensors(std::string(OSORA_SOURCE_DIR "/tests/data/") + name + ".safetensors")
                .value();
        std::erase_if(file.content.tensors, [](NamedTensor const& tensor) {
            return !tensor.name.starts_with("in/") && !tensor.name.starts_with("weights/");
        });
        file.component = file.content.metadata.at("component");
        if (file.content.metadata.contains("config"))
            file.config = file.content.metadata.at("config");
        cases.push_back(std::move(file));
    }
    return cases;
}

class Damage {
public:
    explicit Damage(fuzz::Mutator& mutator) : mutator_(mutator) {}

    void apply(CaseFile& file) {
        auto& tensors = file.content.tensors;
        file.train_step = pick(2) == 0;
        // Weights are many: half of the changes go to inputs.
        auto const inputs = static_cast<std::size_t>(std::ranges::count_if(
            tensors, [](NamedTensor const& tensor) { return tensor.name.starts_with("in/"); }));
        if (inputs == 0 || pick(8) == 0) {
            change_words(file);
            return;
        }
        std::size_t index = pick(tensors.size());
        while (pick(2) == 0 && !tensors[index].name.starts_with("in/"))
            index = pick(tensors.size());
        if (pick(8) == 0)
            tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(index));
        else
            change(tensors[index]);
    }

private:
    std::size_t pick(std::size_t count) { return mutator_.pick(count); }

    void change_words(CaseFile& file) {
        auto& metadata = file.content.metadata;
        switch (pick(4)) {
            case 0:
                metadata["dtype"] = pick(2) == 0 ? "torch.bfloat16" : "torch.int64";
                break;
            case 1:
                metadata["sigma_min"] = mutator_.mutate({"1e-5", "0.1"});
                break;
            default:
                if (!file.config.empty()) file.config = mutator_.mutate({file.config});
        }
    }

    void change(NamedTensor& entry) {
        constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16,
                                             at::kLong,  at::kInt,    at::kBool, at::kByte};
        constexpr double kValues[] = {0, 1, 2, NAN, INFINITY, 1e4, -1};
        at::Tensor& tensor = entry.tensor;
        auto const dim = static_cast<std::int64_t>(pick(static_cast<std::size_t>(tensor.dim())));
        auto const size = static_cast<std::size_t>(tensor.size(dim));
        switch (pick(7)) {
            case 0:
                tensor = tensor.to(kTypes[pick(std::size(kTypes))]);
                break;
            case 1:
                tensor =
                    tensor.narrow(dim, 0, size > 0 ? static_cast<std::int64_t>(pick(size)) : 0);
                break;
            case 2:
                tensor = pick(2) == 0 ? tensor.unsqueeze(dim) : tensor.flatten();
                break;
            case 3:
                if (tensor.numel() < 10'000) tensor = at::cat({tensor, tensor}, dim);
                break;
            case 4:
                tensor = at::full_like(
                    tensor, kValues[pick(tensor.is_floating_point() ? std::size(kValues) : 3)]);
                break;
            case 5:
                entry.name = mutator_.mutate({entry.name});
                break;
            default:
                tensor = tensor.transpose(0, dim);
        }
    }

    fuzz::Mutator& mutator_;
};

TEST(Fuzz, Cases) {
    auto const cases = golden_cases();
    fuzz::Mutator mutator(17);
    Damage damage(mutator);
    int run = 0, refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        CaseFile file = cases[mutator.pick(cases.size())];
        damage.apply(file);
        if (mutator.pick(3) == 0) damage.apply(file);
        auto const function = find_case(file.component).value();
        CaseResult result = std::vector<NamedTensor>();
        auto const run_case = [&]() -> CaseResult {
            OSORA_TRY_VOID(check_weight_values(file));
            return function(file);
        };
        ASSERT_NO_THROW(result = run_case()) << "round " << round << ": " << file.component;
        if (result.has_value()) {
            ++run;
            continue;
        }
        ++refused;
        EXPECT_FALSE(result.error().message.empty());
        EXPECT_TRUE(result.error().code == Errc::invalid_input ||
                    result.error().code == Errc::not_divisible)
            << result.error().message;
    }
    EXPECT_GT(run, kRounds / 20);
    EXPECT_GT(refused, kRounds / 20);
}

}  // namespace
}  // namespace osora::worker
