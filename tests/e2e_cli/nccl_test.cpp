// osora nccl fit, model and predict as scripts call them: the fields of their JSON, exit codes.
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::e2e_cli {
namespace {

using protocol::json::value;
using testing::HasSubstr;

std::string const kGraphs = std::string(OSORA_SOURCE_DIR) + "/tests/data/nccl/model_graphs.csv";
std::string const kHeader = "collective,ranks,nodes,size_bytes,time_us\n";
// 50 us, 8 us a MiB: a line, so every time is known.
std::string const kLine =
    "all_reduce,8,1,1048576,58\nall_reduce,8,1,33554432,306\nall_reduce,8,1,1073741824,8242\n";

class Nccl : public Cli {
protected:
    void expect(std::vector<std::string> const& arguments, int code, std::string const& error) {
        auto const ended = osora(arguments);
        EXPECT_EQ(ended.code, code) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
    std::vector<value> rows(std::vector<std::string> const& arguments) {
        std::vector<value> rows;
        for (auto const& line : lines_of(osora(arguments).out)) {
            rows.push_back(protocol::parse_json(line).value());
        }
        return rows;
    }
};

TEST_F(Nccl, FitGivesTheLawAndTheTimes) {
    write("s.csv", kHeader + kLine);
    auto const fits =
        rows({"nccl", "fit", "--samples", "s.csv", "--predict", "1G,33554432", "--json"});
    ASSERT_EQ(fits.size(), 1u);
    auto const& fit = fits[0].as_object();
    EXPECT_EQ(fit.at("schema"), "osora.nccl_fit/1");
    EXPECT_NEAR(fit.at("a_us").to_number<double>(), 50, 1e-6);
    EXPECT_NEAR(fit.at("b_us_per_byte").to_number<double>() * 1048576, 8, 1e-9);
    EXPECT_NEAR(fit.at("c_us_per_sqrt_byte").to_number<double>(), 0, 1e-9);
    auto const& predictions = fit.at("predictions").as_array();
    ASSERT_EQ(predictions.size(), 2u);
    EXPECT_EQ(predictions[0].at("size_bytes").to_number<std::int64_t>(), 1073741824);
    EXPECT_NEAR(predictions[0].at("time_us").to_number<double>(), 8242, 1e-3);
    EXPECT_NEAR(predictions[1].at("time_us").to_number<double>(), 306, 1e-3);
}

TEST_F(Nccl, CompareFindsWhatGotSlower) {
    std::string before = kHeader, after = kHeader;
    for (int size = 1 << 20; size <= 1 << 26; size *= 2) {
        before += fmt::format("all_reduce,8,1,{},{}\n", size, size / 1000);
        bool const slow = size >= 1 << 24;
        after += fmt::format("all_reduce,8,1,{},{}\n", size, size / (slow ? 800 : 1000));
    }
    write("a.csv", before);
    write("b.csv", after);
    auto const ended = osora({"nccl", "compare", "a.csv", "b.csv", "--json"});
    EXPECT_EQ(ended.code, 1);
    auto const found = protocol::parse_json(ended.out).value().as_object();
    EXPECT_EQ(found.at("schema"), "osora.nccl_compare/1");
    EXPECT_EQ(found.at("paired"), 7);
    ASSERT_EQ(found.at("changes").as_array().size(), 1u);
    auto const& change = found.at("changes").at(0).as_object();
    EXPECT_EQ(change.at("change"), "slower");
    EXPECT_EQ(change.at("first_bytes"), 1 << 24);
    EXPECT_NEAR(change.at("ratio").to_number<double>(), 1.25, 0.01);
    auto const text = osora({"nccl", "compare", "a.csv", "b.csv"}).out;
    EXPECT_THAT(text, HasSubstr("all_reduce · 8 ranks on 1 node  16.0 MiB to 64.0 MiB"));
    EXPECT_EQ(osora({"nccl", "compare", "b.csv", "a.csv"}).code, 0) << "faster is not bad";
    EXPECT_EQ(osora({"nccl", "compare", "a.csv", "b.csv", "--over", "30"}).code, 0);
    write("other.csv", kHeader + "all_gather,8,1,1024,5\n");
    expect({"nccl", "compare", "a.csv", "other.csv"}, 3, "nothing to compare");
    expect({"nccl", "compare", "a.csv", "none.csv"}, 2, "none.csv");
    expect({"nccl", "compare", "a.csv", "b.csv", "--after", "2.29"}, 3, "no samples of NCCL 2.29");
    expect({"nccl", "compare", "a.csv"}, 2, "AFTER.csv");
}

TEST_F(Nccl, FitTakesAProbesAnswer) {
    write("p.json", R"({"nodes": ["a", "b"], "collectives": [
        {"backend": "gloo", "collective": "all_reduce", "ranks": 2, "nodes": 2,
         "size_bytes": 1048576, "time_us": 10},
        {"backend": "nccl", "collective": "all_reduce", "ranks": 2, "nodes": 2,
         "size_bytes": 1048576, "time_us": 58},
        {"backend": "nccl", "collective": "all_reduce", "ranks": 2, "nodes": 2,
         "size_bytes": 33554432, "time_us": 306}]})");
    auto const fits = rows({"nccl", "fit", "--samples", "p.json", "--json"});
    ASSERT_EQ(fits.size(), 1u);
    EXPECT_NEAR(fits[0].at("a_us").to_number<double>(), 50, 1e-6);
    write("links.json", R"({"nodes": ["a", "b"]})");
    expect({"nccl", "fit", "--samples", "links.json"}, 3, "osora probe --collectives");
    write("cut.json", R"({"nodes": ["a", )");
    expect({"nccl", "fit", "--samples", "cut.json"}, 2, "cut.json");
}

TEST_F(Nccl, FitTakesAllGroupsOrTheOneNamed) {
    write("s.csv", kHeader + kLine + "AllGather,16,2,1048576,90\nAllGather,16,2,33554432,400\n");
    EXPECT_EQ(rows({"nccl", "fit", "--samples", "s.csv", "--json"}).size(), 2u);
    auto const one =
        rows({"nccl", "fit", "--samples", "s.csv", "--json", "--collective", "allgather"});
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].at("ranks").to_number<int>(), 16);
    auto const text = osora({"nccl", "fit", "--samples", "s.csv", "--predict", "64MiB"});
    for (auto const& line : lines_of(text.out)) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(Nccl, ModelGivesTheGoldenFileRows) {
    auto const golden =
        read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/nccl/model_golden.csv");
    auto const model = rows({"nccl", "model", "--graphs", kGraphs, "--json"});
    auto const lines = lines_of(golden.value());
    ASSERT_EQ(model.size() + 1, lines.size());
    std::string header;
    for (auto const& member : model[0].as_object()) {
        header += (header.empty() ? "" : ",") + std::string(member.key());
    }
    EXPECT_EQ(header, lines[0]);
    auto const text = osora({"nccl", "model", "--graphs", kGraphs});
    for (auto const& line : lines_of(text.out)) EXPECT_LE(line.size(), 81u) << line;
}

TEST_F(Nccl, ModelWritesAFileForTheTuner) {
    auto const ended = osora({"nccl", "model", "--graphs", kGraphs, "--topo", "h100_8x400",
                              "--tuner", "tuner", "--json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(protocol::parse_json(ended.out).value().at("groups").to_number<int>(), 6);
    std::string const text = content_of(folder_ / "tuner");
    EXPECT_TRUE(text.starts_with("osora-tuner 1\n") && text.ends_with("\nend\n")) << text;
    expect({"nccl", "model", "--graphs", kGraphs, "--tuner", "tuner"}, 2, "name one: --topo");
}

TEST_F(Nccl, PredictSaysHow) {
    write("s.csv", kHeader + kLine);
    std::vector<std::string> const question{"nccl",    "predict", "--collective", "all_reduce",
                                            "--ranks", "128",     "--nodes",      "16",
                                            "--size",  "32MiB"};
    auto const with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), question.begin(), question.end());
        return more;
    };
    expect(with({"--samples", "s.csv"}), 3, "needs --graphs");
    auto const answers =
        rows(with({"--samples", "s.csv", "--graphs", kGraphs, "--topo", "h100_8x400", "--json"}));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].at("schema"), "osora.nccl_predict/1");
    EXPECT_EQ(answers[0].at("method"), "fit x model");
    EXPECT_GT(answers[0].at("time_us").to_number<double>(), 306);
    auto const text =
        osora(with({"--samples", "s.csv", "--graphs", kGraphs, "--topo", "h100_8x400"}));
    EXPECT_EQ(text.code, 0) << text.err;
    for (auto const& line : lines_of(text.out)) EXPECT_LE(line.size(), 82u) << line;  // "±", "·"
    expect(with({"--graphs", kGraphs}), 2, "holds 6 topologies");
    expect(question, 2, "--samples FILE or --graphs FILE is needed");
}

TEST_F(Nccl, BadInputIsReportedWithItsPlace) {
    write("empty.csv", "");
    write("header.csv", kHeader);
    write("one.csv", kHeader + "all_reduce,8,1,1048576,58\n");
    write("bad.csv", kHeader + "all_reduce,8,1,1048576,nan\n");
    expect({"nccl", "fit"}, 2, "--samples FILE is needed");
    expect({"nccl", "fit", "--samples", "none.csv"}, 2, "none.csv");
    expect({"nccl", "fit", "--samples", "empty.csv"}, 2, "no header line");
    expect({"nccl", "fit", "--samples", "header.csv"}, 3, "no samples");
    expect({"nccl", "fit", "--samples", "one.csv"}, 3, "1 size measured");
    expect({"nccl", "fit", "--samples", "bad.csv"}, 2, "bad.csv: line 2: time_us = 'nan'");
    expect({"nccl", "fit", "--samples", "one.csv", "--predict", "1M,,2M"}, 2, "is no size");
    expect({"nccl", "model", "--graphs", "one.csv"}, 2, "no column 'topo'");
    expect({"nccl", "model", "--graphs", kGraphs, "--nccl-version", "1.0"}, 2, "2.18 to 2.x");
    expect({"nccl", "predict", "--collective", "all_reduce"}, 2, "are needed");
}

}  // namespace
}  // namespace osora::e2e_cli
