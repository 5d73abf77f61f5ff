// Lines in, lines out, as scripts read them (docs/contract.md section 5).
#include "base/files/files.hpp"
#include "tests/unit/plan/evaluate/rows_kit.hpp"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>

namespace osora::plan {
namespace {

using testing::HasSubstr;

TEST(EvaluateLine, AnswersWithTimePartsAndMemory) {
    auto const answer = answer_of(line_of("7"));
    EXPECT_EQ(answer.at("id"), 7);
    double const step = answer.at("step_time_s").to_number<double>();
    EXPECT_GT(step, 0);
    auto const& parts = answer.at("parts").as_object();
    double sum = 0;
    for (auto const* name :
         {"compute_s", "encoder_s", "exposed_comm_s", "bubble_s", "optimizer_s", "launch_s"}) {
        sum += parts.at(name).to_number<double>();
    }
    EXPECT_NEAR(sum, step, 1e-6 * step);
    for (auto const* name : {"tp_comm_s", "sp_comm_s", "pp_comm_s", "dp_comm_s"}) {
        EXPECT_GE(parts.at(name).to_number<double>(), 0) << name;
    }
    EXPECT_GT(answer.at("peak_memory_gib").to_number<double>(), 0);
    EXPECT_TRUE(answer.at("fits").as_bool());
}

// Open-Sora issue 480: STDiT-XL/2, 2.65 s on one GPU, from which these rows start.
TEST(EvaluateLine, TheExampleOfTheGuidePredictsWhatWasReported) {
    auto const rows = read_file(OSORA_SOURCE_DIR "/examples/growing.jsonl");
    ASSERT_TRUE(rows.has_value());
    std::istringstream lines(*rows);
    std::map<std::int64_t, double> predicted_s;
    for (std::string line; std::getline(lines, line);) {
        auto const answer = answer_of(line);
        predicted_s[answer.at("id").as_int64()] = answer.at("step_time_s").to_number<double>();
    }
    ASSERT_EQ(predicted_s.size(), 2u);
    EXPECT_NEAR(predicted_s[8], 2.75, 0.05 * 2.75);
    EXPECT_NEAR(predicted_s[64], 3.50, 0.05 * 3.50);
}

TEST(EvaluateLine, MembersThatNothingReadsAreListed) {
    EXPECT_FALSE(answer_of(line_of("1")).contains("ignored"));
    auto row = boost::json::parse(line_of("1")).as_object();
    row["note"] = "from a table";
    row["model"].as_object()["ffn_hiden"] = 1024;
    row["cluster"].as_object()["calibration"] = {{"measured", boost::json::array()}, {"mfu", 1}};
    row["layout"].as_object()["virtual_stage"] = 2;
    row["layout"].as_object()["virtual_stages"] = 1;
    auto const answer = answer_of(boost::json::serialize(row));
    EXPECT_EQ(answer.at("ignored"),
              boost::json::array({"model.ffn_hiden; did you mean ffn_hidden?",
                                  "cluster.calibration.mfu", "layout.virtual_stage"}));
}

TEST(EvaluateLine, IdsComeBackAsTheyWere) {
    EXPECT_EQ(answer_of(line_of("\"a b\"")).at("id"), "a b");
    EXPECT_EQ(answer_of(line_of("0.5")).at("id"), 0.5);
    EXPECT_TRUE(answer_of(line_of("null")).at("id").is_null());
    EXPECT_EQ(answer_of(line_of("true")).at("id"), true);
    // Of a line that is cut off, too.
    EXPECT_EQ(answer_of(R"({"id":12,"model":{)").at("id"), 12);
    EXPECT_TRUE(answer_of("nonsense").at("id").is_null());
}

TEST(EvaluateLine, WhatIsMissingOrWrongIsNamed) {
    EXPECT_THAT(error_of(R"({"id":1})"), HasSubstr("model: is missing"));
    EXPECT_THAT(error_of("[1]"), HasSubstr("not a JSON object"));
    EXPECT_THAT(
        error_of(line_of("1", "a100-80g-sx")),
        HasSubstr("cluster.gpu: \"a100-80g-sx\" is not known; nearest valid: a100-80g-sxm"));
    EXPECT_THAT(error_of(line_of("1", "a100-80g-sxm", R"("tp_size":0,"dp_size":8)")),
                HasSubstr("layout.tp_size: 0 is below 1; nearest valid: 1"));
    EXPECT_THAT(error_of(line_of("1", "a100-80g-sxm", R"("tp_size":1.5,"dp_size":8)")),
                HasSubstr("is not a whole number; valid: 1 to"));
    EXPECT_THAT(error_of(line_of("1", "a100-80g-sxm", R"("dp_size":8)")),
                HasSubstr("layout.tp_size: is missing"));
    EXPECT_FALSE(error_of("\xff\xfe").empty());
}

// Llama 3.2 1B has grouped heads and a gated MLP of 4 hidden.
TEST(EvaluateLine, AnMlpOfFourHiddenIsGatedIfTheHeadsAreGroupedOrTheRowSaysSo) {
    auto const with = [](std::string const& members) {
        auto const answer =
            answer_of(line_of("1", "a100-80g-sxm", R"("tp_size":1,"dp_size":8,"zero_stage":1)",
                              R"("layers":16,"hidden":2048,"heads":32,"seq_len":8192,)" + members));
        return std::pair{answer.at("step_time_s").to_number<double>(),
                         answer.at("peak_memory_gib").to_number<double>()};
    };
    auto const expect_near = [](auto const& found, auto const& expected, double share) {
        EXPECT_NEAR(found.first / expected.first, 1, share);
        EXPECT_NEAR(found.second / expected.second, 1, share);
    };
    auto const gated = with(R"("kv_heads":8,"ffn_hidden":8192)");
    expect_near(gated, with(R"("kv_heads":8,"ffn_hidden":8191)"), 1e-3);
    expect_near(gated, with(R"("kv_heads":8,"ffn_hidden":8193)"), 1e-3);
    expect_near(gated, with(R"("kv_heads":8,"ffn_hidden":8192,"gated":true)"), 1e-9);
    auto const plain = with(R"("kv_heads":8,"ffn_hidden":8192,"gated":false)");
    EXPECT_LT(plain.second, 0.9 * gated.second);
    expect_near(plain, with(R"("kv_heads":8)"), 1e-9);
    for (auto const* heads : {R"("ffn_hidden":8192)", R"("kv_heads":32,"ffn_hidden":8192)"}) {
        expect_near(with(heads), with(R"("kv_heads":32)"), 1e-9);
    }
    expect_near(with(R"("kv_heads":1,"ffn_hidden":8192)"), with(R"("kv_heads":1)"), 1e-9);
    EXPECT_THAT(error_of(line_of("1", "a100-80g-sxm", R"("tp_size":2,"dp_size":4)",
                                 R"("layers":24,"heads":16,"gated":1)")),
                HasSubstr("model.gated: 1 is not true or false"));
}

TEST(EvaluateLine, AnIllegalLayoutNamesItsRuleAndWhatIsNear) {
    EXPECT_THAT(error_of(line_of("1", "a100-80g-sxm", R"("tp_size":2,"dp_size":3)")),
                testing::AllOf(HasSubstr("layout.dp_size"), HasSubstr("nearest valid: dp_size 4"),
                               HasSubstr("(rule: tp_size * pp_size * sp_size * dp_size")));
    std::string const heads = error_of(
        line_of("1", "a100-80g-sxm", R"("tp_size":8,"dp_size":1)", R"("layers":2,"heads":4)"));
    EXPECT_THAT(heads, testing::AllOf(HasSubstr("tp_size"), HasSubstr("4"), HasSubstr("rule: ")));
}

TEST(EvaluateLine, StoresOfActivationsAreForVideoModels) {
    auto const stored = [](std::string const& store) {
        return line_of("1", "a100-80g-sxm",
                       R"("tp_size":2,"dp_size":4,"activation_store":")" + store + '"');
    };
    EXPECT_EQ(error_of(stored("none")), "");
    for (auto const* store : {"bf16", "int8", "offload"}) {
        EXPECT_EQ(error_of(stored(store)),
                  "layout.activation_store: activation_store " + std::string(store) +
                      " needs a model of kind \"arch\"; nearest valid: none (rule: "
                      "activation_store == none with kind gpt)");
    }
    EXPECT_THAT(error_of(stored("disk")), HasSubstr("valid: none, bf16, int8, offload"));
}

TEST(EvaluateLine, CalibrationOverridesConstantsByName) {
    auto const time_with = [](std::string const& constants) {
        std::string line = line_of("1");
        std::string const at = R"("nodes":1)";
        line.insert(line.find(at), R"("calibration":{)" + constants + "},");
        return answer_of(line);
    };
    double const plain = answer_of(line_of("1")).at("step_time_s").to_number<double>();
    EXPECT_NEAR(time_with(R"("time_scale":2)").at("step_time_s").to_number<double>(), 2 * plain,
                1e-6 * plain);
    EXPECT_TRUE(time_with(R"("matmul_efficiency":5)").contains("error"));
}

TEST(EvaluateLine, ResolutionsAreReadAsOpenSoraWritesThem) {
    auto const of = [](std::string_view name) { return bucket_of(name, 1, 16).value(); };
    EXPECT_EQ(of("256px"), of("256"));
    EXPECT_EQ(of("720x1280").height, 720);
    EXPECT_EQ(of("720x1280").width, 1280);
    for (auto const* wrong : {"", "px", "x", "12x", "0x0", "99999x16", "256pxpx"}) {
        EXPECT_TRUE(bucket_of(wrong, 1, 16).has_error()) << wrong;
    }
}

TEST(Hardware, FilesAddGpusAndNameWhatIsWrong) {
    HardwareTable table = HardwareTable::built_in();
    ASSERT_TRUE(table.add("[gpu.a100-80g-sxm]\nlink_gbps = 100\n", "my.toml").has_value());
    EXPECT_EQ(table.find("a100-80g-sxm")->link_gbps, 100);
    EXPECT_EQ(table.find("a100-80g-sxm")->memory_gib, 80);
    auto const wrong = table.add("[gpu.mine]\nbf16_tflop = 1\n", "my.toml");
    ASSERT_TRUE(wrong.has_error());
    EXPECT_THAT(wrong.error().message,
                testing::AllOf(HasSubstr("my.toml:2"), HasSubstr("did you mean bf16_tflops?")));
    EXPECT_TRUE(table.add("[gpu.mine]\nbf16_tflops = 1\n", "my.toml").has_error());
    EXPECT_TRUE(table.add("[gpu.mine", "my.toml").has_error());
}

}  // namespace
}  // namespace osora::plan
