// Architectures by name, with weights in one file or in shards as Hugging Face writes them.
#include "base/files/files.hpp"
#include "worker/cases/model_command.hpp"
#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/weight_files.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <filesystem>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class ArchCase : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-arch-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        fs::create_directory(folder_ / "shards");
        stdit3_.initialise(3);
    }
    void TearDown() override { fs::remove_all(folder_); }

    void save(fs::path const& name, std::vector<NamedTensor> const& tensors) const {
        EXPECT_TRUE(save_safetensors(folder_ / name, tensors).has_value());
    }
    /// All weights of stdit3_ in two files and an index.
    void save_shards() const {
        auto const& all = stdit3_.parameters().all();
        auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        save("shards/model-00001-of-00002.safetensors", {all.begin(), middle});
        save("shards/model-00002-of-00002.safetensors", {middle, all.end()});
        boost::json::object map;
        for (auto each = all.begin(); each != all.end(); ++each)
            map[each->name] = each < middle ? "model-00001-of-00002.safetensors"
                                            : "model-00002-of-00002.safetensors";
        write_index(map);
    }
    void write_index(boost::json::object const& map) const {
        auto const text = boost::json::serialize(boost::json::object{{"weight_map", map}});
        EXPECT_TRUE(write_file_atomic(index(), text).has_value());
    }
    [[nodiscard]] fs::path index() const {
        return folder_ / "shards" / "model.safetensors.index.json";
    }
    [[nodiscard]] Result<at::Tensor> run(std::string const& arch, fs::path const& weights) const {
        ModelCommand command;
        command.arch = arch;
        command.weights = folder_ / weights;
        command.inputs = folder_ / "inputs.safetensors";
        command.out = folder_ / "out.safetensors";
        OSORA_TRY(auto const text, run_model_command(command));
        return *load_safetensors(command.out)->find("out/out");
    }

    fs::path folder_;
    Stdit3 stdit3_{stdit3_config("stdit3-tiny").value()};
};

TEST_F(ArchCase, OneFileAndShardsGiveWhatTheModelGives) {
    Stdit3Input input;
    input.x = at::randn({2, 3, 2, 8, 8});
    input.timestep = at::full({2}, 300.0);
    input.fps = at::full({1}, 24.0);
    input.y = at::randn({2, 1, 8, 32});
    input.height_px = input.width_px = 8;
    at::Tensor const side = at::full({2}, 8.0);
    save("inputs.safetensors", {{"x", input.x},
                                {"in/timestep", input.timestep},
                                {"fps", input.fps},
                                {"y", input.y},
                                {"height", side},
                                {"width", side}});
    save("whole.safetensors", stdit3_.parameters().all());
    save_shards();
    at::NoGradGuard const no_grad;
    auto const expected = stdit3_.forward(input);
    for (char const* weights :
         {"whole.safetensors", "shards", "shards/model.safetensors.index.json"}) {
        auto const out = run("stdit3-tiny", weights);
        ASSERT_TRUE(out.has_value()) << out.error().message;
        EXPECT_TRUE(at::equal(*out, expected)) << weights;
    }
    EXPECT_THAT(run("stdit3-xl/2", "whole.safetensors").error().message,
                HasSubstr("in/x: shape [2,3,2,8,8], expected [*,4,*,*,*]"));
}

TEST_F(ArchCase, Mmdit) {
    Mmdit net(mmdit_config("mmdit-tiny").value());
    net.initialise(5);
    save("whole.safetensors", net.parameters().all());
    MmditInput const input{.img = at::randn({1, 6, 48}),
                           .img_ids = at::zeros({1, 6, 3}),
                           .txt = at::randn({1, 4, 32}),
                           .txt_ids = at::zeros({1, 4, 3}),
                           .timesteps = at::full({1}, 0.25),
                           .y_vec = at::randn({1, 24}),
                           .cond = {},
                           .guidance = {}};
    save("inputs.safetensors", {{"img", input.img},
                                {"img_ids", input.img_ids},
                                {"txt", input.txt},
                                {"txt_ids", input.txt_ids},
                                {"timesteps", input.timesteps},
                                {"y_vec", input.y_vec}});
    at::NoGradGuard const no_grad;
    auto const out = run("mmdit-tiny", "whole.safetensors");
    ASSERT_TRUE(out.has_value()) << out.error().message;
    EXPECT_TRUE(at::equal(*out, net.forward(input)));
}

TEST_F(ArchCase, ShardsThatDoNotFitTheirIndex) {
    save_shards();
    auto const message = [&](std::string const& text) {
        EXPECT_TRUE(write_file_atomic(index(), text).has_value());
        auto const loaded = load_weight_files(index());
        return loaded.has_error() ? loaded.error().message : "accepted";
    };
    std::string const first = R"("model-00001-of-00002.safetensors")";
    EXPECT_THAT(message(R"({"weight_map":{"none":)" + first + "}}"),
                HasSubstr("but not listed there"));
    EXPECT_THAT(message(R"({"weight_map":{"a":"missing.safetensors"}})"),
                HasSubstr("missing.safetensors"));
    EXPECT_THAT(message(R"({"weight_map":{"a":"../a.safetensors"}})"),
                HasSubstr("'../a.safetensors' of 'a' is not a file name"));
    EXPECT_THAT(message(R"({"weight_map":{"a":3}})"), HasSubstr("the file of 'a' is not text"));
    EXPECT_THAT(message(R"({"weight_map":{}})"), HasSubstr("lists no tensor"));
    EXPECT_THAT(message("[]"), HasSubstr("no object \"weight_map\""));
    EXPECT_THAT(message("{"), HasSubstr("weight index: "));
    save_shards();
    auto listed = boost::json::parse(*read_file(index())).at("weight_map").as_object();
    listed["rope.other"] = "model-00002-of-00002.safetensors";
    write_index(listed);
    EXPECT_THAT(load_weight_files(index()).error().message,
                HasSubstr("'rope.other' is not in model-00002-of-00002.safetensors"));
}

TEST(ModelCommandWords, AreCheckedTogether) {
    auto const message = [](std::vector<std::string> const& words) {
        auto const parsed = parse_model_command(words);
        return parsed.has_error() ? parsed.error().message : "accepted";
    };
    EXPECT_EQ(message({"forward", "--case", "a", "--out", "b"}), "accepted");
    EXPECT_EQ(
        message({"train-step", "--arch", "a", "--weights", "b", "--inputs", "c", "--out", "d"}),
        "accepted");
    EXPECT_THAT(message({"backward"}), HasSubstr("forward or train-step"));
    EXPECT_THAT(message({"forward", "--cse", "a"}), HasSubstr("unknown option --cse"));
    EXPECT_THAT(message({"forward", "--case"}), HasSubstr("--case: needs a value"));
    EXPECT_THAT(message({"forward", "--case", "a", "--arch", "b", "--out", "c"}),
                HasSubstr("either --case or --arch"));
}

}  // namespace
}  // namespace osora::worker
