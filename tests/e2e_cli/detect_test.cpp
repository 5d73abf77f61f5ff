// osora detect as scripts call it: the fields of its JSON, exit codes, errors in a file.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

/// `before` values around 7 and then `after` around `level`.
std::string lines(int before, int after, double level = 8) {
    std::string text;
    for (int i = 0; i < before + after; ++i) {
        text += fmt::format("{}\n", (i < before ? 7 : level) * (1 + 0.003 * (i * 7 % 5)));
    }
    return text;
}

class Detect : public Cli {
protected:
    void expect(std::vector<std::string> const& arguments, int code, std::string const& error) {
        auto const ended = osora(arguments);
        EXPECT_EQ(ended.code, code) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
    protocol::json::object json_of(std::vector<std::string> arguments, int code) {
        arguments.push_back("--json");
        auto const ended = osora(arguments);
        EXPECT_EQ(ended.code, code) << ended.err;
        return protocol::parse_json(ended.out).value().as_object();
    }
};

TEST_F(Detect, JsonHasTheFieldsOfTheContract) {
    write("steps.csv", "step_s\n" + lines(30, 30));
    for (std::string const method : {"robust", "otava", "mozilla"}) {
        auto const answer = json_of({"detect", "--csv", "steps.csv", "--method", method}, 1);
        EXPECT_EQ(answer.at("schema"), "osora.detect/1");
        EXPECT_EQ(answer.at("detector").as_string(), method.c_str());
        auto const& points = answer.at("change_points").as_array();
        ASSERT_EQ(points.size(), 1u);
        EXPECT_EQ(points[0].at("index"), 30);
        EXPECT_NEAR(points[0].at("before").to_number<double>(), 7.04, 0.03);
        EXPECT_NEAR(points[0].at("after").to_number<double>(), 8.05, 0.03);
        EXPECT_LT(points[0].at("p").to_number<double>(), 1e-6);
        EXPECT_EQ(points[0].at("interval"), (protocol::json::array{30, 30}));
    }
}

TEST_F(Detect, ExitCodesSayWhatIsFound) {
    write("up.csv", lines(30, 30));
    write("same.csv", lines(60, 0));
    write("few.csv", "1\n2\n3\n4\n5\n");
    EXPECT_EQ(osora({"detect", "--csv", "up.csv"}).code, 1);
    EXPECT_EQ(osora({"detect", "--csv", "up.csv", "--lower-is-worse"}).code, 0);
    EXPECT_EQ(osora({"detect", "--csv", "up.csv", "--min-effect", "20%"}).code, 0);
    EXPECT_EQ(osora({"detect", "--csv", "same.csv"}).code, 0);
    EXPECT_EQ(osora({"detect", "--csv", "few.csv"}).out, "undecided: 5 values, 6 are needed\n");
    EXPECT_TRUE(json_of({"detect", "--csv", "few.csv"}, 3).at("change_points").as_array().empty());
    write("down.csv", lines(30, 30, 6));
    EXPECT_EQ(osora({"detect", "--csv", "down.csv"}).code, 0);
    EXPECT_EQ(osora({"detect", "--csv", "down.csv", "--lower-is-worse"}).code, 1);
    auto const text = osora({"detect", "--csv", "up.csv"}).out;
    for (auto const& line : lines_of(text)) EXPECT_LE(line.size(), 81u) << line;
}

TEST_F(Detect, AChangeBelowTheLeastEffectIsMentionedAndDoesNotCount) {
    write("small.csv", lines(60, 60, 7.14));
    auto const text = osora({"detect", "--csv", "small.csv"});
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.out, HasSubstr("\nsmall    "));
    EXPECT_THAT(text.out, HasSubstr("but below\n         --min-effect (3 %), so not counted"));
    auto const answer = json_of({"detect", "--csv", "small.csv"}, 0);
    EXPECT_TRUE(answer.at("change_points").as_array().empty());
    auto const& below = answer.at("below_min_effect").as_array();
    ASSERT_EQ(below.size(), 1u);
    EXPECT_EQ(below[0].at("index"), 60);
    auto const counted = json_of({"detect", "--csv", "small.csv", "--min-effect", "1%"}, 1);
    EXPECT_EQ(counted.at("change_points").as_array().size(), 1u);
    EXPECT_TRUE(counted.at("below_min_effect").as_array().empty());
    write("same.csv", lines(120, 0));
    EXPECT_THAT(osora({"detect", "--csv", "same.csv"}).out, testing::Not(HasSubstr("small")));
}

TEST_F(Detect, BadInputIsReportedWithItsPlace) {
    write("bad.csv", "1\n2\nx\n");
    write("two.csv", "run,s\na,1\n");
    write("empty.csv", "");
    expect({"detect", "--csv", "bad.csv"}, 2, "osora: bad.csv: line 3: 'x' is no number\n");
    expect({"detect", "--csv", "two.csv"}, 2, "two.csv: 2 columns (run, s): say which");
    expect({"detect", "--csv", "two.csv", "--column", "S"}, 2, "did you mean s?");
    expect({"detect", "--csv", "none.csv"}, 2, "none.csv: open: No such file");
    expect({"detect", "--csv", "."}, 2, "read: Is a directory");
    expect({"detect", "--csv", ""}, 2, "--csv: the name of a file is empty");
    EXPECT_EQ(osora({"detect", "--csv", "empty.csv"}).code, 3);
    expect({"detect", "--csv", "bad.csv", "--window", "9"}, 2, "--window goes with --method otava");
    expect({"detect", "--csv", "bad.csv", "--method", "otava", "--window", "1"}, 2,
           "--window 1: must be an integer between 2 and 1000");
    expect({"detect", "--csv", "bad.csv", "--method", "otava", "--p-value", "2"}, 2,
           "--p-value 2: must be between 0 and 1");
    expect({"detect", "--csv", "bad.csv", "demo"}, 2, "name a series, or a file with --csv");
    expect({"detect", "--method", "otava"}, 2, "--method goes with --csv");
}

TEST_F(Detect, AHistoryWithoutRunsIsUndecided) {
    auto const all = osora({"detect"});
    EXPECT_EQ(all.code, 3);
    EXPECT_EQ(all.out, "undecided: no series has 6 runs that can be compared\n");
    expect({"detect", "demo"}, 2, "series demo: no run has this name; there are no runs yet");
    EXPECT_TRUE(json_of({"detect"}, 3).at("series").as_array().empty());
}

}  // namespace
}  // namespace osora::e2e_cli
