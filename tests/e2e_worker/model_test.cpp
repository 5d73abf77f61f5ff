// `osora model` through the real programs, against tensors that Open-Sora itself computed
// (tests/data/parity/README.md).
#include "base/environment.hpp"
#include "base/files/files.hpp"
#include "tests/kit/program.hpp"
#include "tests/parity/compare.hpp"
#include "tests/unit/worker/model/weights/torch_kit.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>

#include <filesystem>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using worker::SafetensorsContent;

fs::path const kGolden = OSORA_SOURCE_DIR "/tests/data/parity";
fs::path const kStdit2 = OSORA_SOURCE_DIR "/tests/data/stdit2/stdit2.safetensors";

class Model : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora model-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] Ended osora(std::vector<std::string> arguments) const {
        SpawnOptions options;
        options.program = OSORA_BIN_DIR "/osora";
        options.arguments = std::move(arguments);
        options.environment = current_environment();
        set_variable(options.environment, "OMP_NUM_THREADS", "1");
        auto running = start_program(std::move(options), folder_ / "program");
        EXPECT_TRUE(running.has_value());
        return running->wait();
    }
    [[nodiscard]] fs::path out() const { return folder_ / "o.safetensors"; }

    fs::path folder_;
};

struct Golden {
    char const* file;
    char const* step;
};
void PrintTo(Golden const& golden, std::ostream* out) {
    *out << golden.file << ' ' << golden.step;
}

bool in_group(std::string const& name, std::string_view group) {
    return name.starts_with(group);
}

double tolerance(std::string const& name) {
    if (name.ends_with("/loss")) return worker::kFp32Loss;
    return in_group(name, "grad") ? worker::kFp32Gradient : worker::kFp32Output;
}

/// Every number in the file that the step also gives.
int expect_given(SafetensorsContent const& golden, SafetensorsContent const& result,
                 bool train_step) {
    int compared = 0;
    for (auto const& [name, expected, kind] : golden.tensors) {
        if (!in_group(name, "out/") && !(train_step && in_group(name, "grad"))) continue;
        auto const* given = result.find(name);
        if (given == nullptr) {
            ADD_FAILURE() << name << " is missing";
            continue;
        }
        ++compared;
        EXPECT_EQ(given->scalar_type(), expected.scalar_type()) << name;
        EXPECT_LE(worker::relative_error(*given, expected), tolerance(name)) << name;
    }
    for (auto const& [name, tensor, kind] : result.tensors)
        EXPECT_TRUE(!in_group(name, "out/") || golden.find(name) != nullptr) << name;
    return compared;
}

class ModelGolden : public Model, public testing::WithParamInterface<Golden> {};

TEST_P(ModelGolden, GivesWhatOpenSoraComputed) {
    auto const [file, step] = GetParam();
    bool const stdit2 = std::string_view(file) == "stdit2";
    auto const path = stdit2 ? kStdit2 : kGolden / (std::string(file) + ".safetensors");
    auto const ended = osora({"model", step, "--case", path.string(), "--out", out().string()});
    ASSERT_EQ(ended.code, 0) << ended.err;
    auto const golden = worker::load_safetensors(path).value();
    auto const result = worker::load_safetensors(out()).value();
    bool const train_step = std::string_view(step) == "train-step";
    EXPECT_GT(expect_given(golden, result, train_step), 0);
    EXPECT_EQ(result.metadata.at("component"), golden.metadata.at("component"));
    EXPECT_THAT(ended.out, HasSubstr(golden.metadata.at("component")));
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelGolden,
    testing::Values(Golden{"A0_tables_bf16", "forward"}, Golden{"A1_stdit3_plain", "train-step"},
                    Golden{"A1_stdit3_plain", "forward"}, Golden{"A4_stdit3_xmask", "train-step"},
                    Golden{"A5_stdit3_textlens", "forward"},
                    Golden{"A8_stdit3_caption_drop", "forward"},
                    Golden{"B1_timestep_transform", "forward"}, Golden{"B3_add_noise", "forward"},
                    Golden{"B4_training_losses", "forward"},
                    Golden{"B5_timestep_sampling", "forward"},
                    Golden{"B6_sampling_loop", "forward"}, Golden{"F1_mmdit_t2v", "train-step"},
                    Golden{"F6_v2_train_step", "forward"}, Golden{"T1_t5_encoder", "forward"},
                    Golden{"T2_clip_text", "forward"}, Golden{"E1_vae_temporal", "forward"},
                    Golden{"E3_vae_pipeline", "forward"}, Golden{"stdit2", "forward"},
                    Golden{"stdit2", "train-step"}),
    [](auto const& info) {
        std::string const step = info.param.step;
        return std::string(info.param.file) + "_" + step.substr(0, step.find('-'));
    });

TEST_F(Model, PrintsAsJsonWhatItWrote) {
    auto const path = kGolden / "F6_v2_train_step.safetensors";
    auto const ended =
        osora({"model", "forward", "--json", "--case", path.string(), "--out", out().string()});
    ASSERT_EQ(ended.code, 0) << ended.err;
    auto const value = boost::json::parse(ended.out);
    EXPECT_EQ(value.at("schema"), "osora.model/1");
    EXPECT_EQ(value.at("component"), "mmdit_train_step");
    EXPECT_EQ(value.at("tensors").as_array().size(), 14u);
}

TEST_F(Model, WrongInputEndsWithTwo) {
    auto const expect_refused = [&](std::vector<std::string> const& words, std::string const& why) {
        std::vector<std::string> all{"model"};
        all.insert(all.end(), words.begin(), words.end());
        auto const ended = osora(all);
        EXPECT_EQ(ended.code, 2) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr(why));
        EXPECT_FALSE(fs::exists(out()));
    };
    std::string const to = out().string();
    std::string const a1 = (kGolden / "A1_stdit3_plain.safetensors").string();
    expect_refused({"forward", "--case", (folder_ / "none").string(), "--out", to}, "none: ");
    expect_refused({"forward", "--case", a1}, "--out is missing");
    expect_refused({"forward", "--out", to}, "either --case or --arch");
    expect_refused({"forward", "--case", a1, "--out", to, "--weights", a1}, "belong together");
    expect_refused(
        {"forward", "--arch", "stdit3-tinny", "--weights", a1, "--inputs", a1, "--out", to},
        "did you mean stdit3-tiny?");
    expect_refused({"forward", "--arch", "stdit3-tiny", "--weights", folder_.string(), "--inputs",
                    a1, "--out", to},
                   "expected one *.index.json, one *.safetensors or one file of torch.save");
    expect_refused({"train-step", "--case", (kGolden / "A5_stdit3_textlens.safetensors").string(),
                    "--out", to},
                   "in/loss_weight is missing");
}

/// Weights with false sizes, and other files, give an ordinary error.
TEST_F(Model, HostileWeightsEndWithTwo) {
    auto const refused = [&](std::string const& name) {
        auto const ended =
            osora({"model", "forward", "--arch", "stdit3-tiny", "--weights",
                   (folder_ / name).string(), "--inputs",
                   (kGolden / "A1_stdit3_plain.safetensors").string(), "--out", out().string()});
        EXPECT_EQ(ended.code, 2) << ended.err;
        EXPECT_FALSE(fs::exists(out()));
        EXPECT_THAT(ended.err, testing::Not(HasSubstr("frame #")));  // of LibTorch's stacks
        return ended.err;
    };
    using worker::test::Claim;
    auto const write = [&](char const* name, Claim const& claim) {
        auto const pickle = worker::test::pickle_of({claim});
        auto const bytes = worker::test::archive_of(pickle, {{"0", std::string(16, 'x')}});
        EXPECT_TRUE(write_file_atomic(folder_ / name, bytes).has_value());
        return refused(name);
    };
    EXPECT_THAT(write("leak.pt", {.sizes = {65536}}),
                HasSubstr("its record data/0 holds 16 bytes"));
    EXPECT_THAT(write("neg.pth", {.offset = -4096}), HasSubstr("begins at element -4096"));
    EXPECT_THAT(write("crash.ckpt", {.numel = 1LL << 36, .sizes = {1LL << 36}}),
                HasSubstr("claims 68719476736 elements"));
    EXPECT_THAT(write("quantized.bin", {.storage = "QUInt8Storage"}), HasSubstr("QUInt8Storage"));
    for (char const* name : {"fifo.pt", "fifo.safetensors", "fifo.index.json"}) {
        ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
        EXPECT_THAT(refused(name), HasSubstr("it is a FIFO, expected a regular file"));
    }
}

}  // namespace
}  // namespace osora::tests
