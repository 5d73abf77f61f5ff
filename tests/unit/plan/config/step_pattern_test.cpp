// User-defined patterns: what they find, and that an invalid one is explained.
#include "plan/config/step_pattern.hpp"
#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string complaint(std::string const& expression) {
    auto const made = StepPattern::make(expression);
    return made.has_error() ? made.error().message : "";
}

TEST(StepPattern, GroupsAreFigures) {
    auto const pattern = StepPattern::make(
        R"(it (?<step>[\d,]+) .*took (?<time_ms>[\d.]+) ms(?:.*L=(?<loss>\S+))?)");
    ASSERT_TRUE(pattern.has_value()) << pattern.error().message;
    auto const all = pattern->match("12:00 it 1,200 of 9 took 250 ms, L=0.5");
    ASSERT_TRUE(all.has_value());
    EXPECT_THAT(*all, ElementsAre(Pair("loss", 0.5), Pair("step", 1200), Pair("time_s", 0.25)));
    auto const some = pattern->match("it 7 took 1 ms");
    ASSERT_TRUE(some.has_value());
    EXPECT_THAT(*some, ElementsAre(Pair("step", 7), Pair("time_s", 0.001)));
    EXPECT_FALSE(pattern->match("it x took 1 ms").has_value());
    EXPECT_FALSE(pattern->match("it 7 took 1 ms, L=low").has_value());
    EXPECT_FALSE(pattern->match("").has_value());
}

// Programs print numbers in the user's locale: beast-dev/beast-mcmc 473, opencog/link-grammar 336.
TEST(StepPattern, ACommaIsOfThousandsOrOfDecimals) {
    for (auto const& [text, number] : std::map<std::string, double>{{"2,048", 2048},
                                                                    {"-1,234,567.5", -1234567.5},
                                                                    {"12,", 12},
                                                                    {"0,2354", 0.2354},
                                                                    {"310,20", 310.2},
                                                                    {"0,125", 0.125},
                                                                    {"1,5e-05", 1.5e-05},
                                                                    {"1,234e-05", 1.234e-05}}) {
        auto const parsed = parse_figure(text);
        ASSERT_TRUE(parsed.has_value()) << text;
        EXPECT_DOUBLE_EQ(*parsed, number) << text;
    }
    for (char const* text : {"1,2,3", "12,34,567", "1,23.5", ",", "0,123,456"}) {
        EXPECT_FALSE(parse_figure(text).has_value()) << text;
    }
}

TEST(StepPattern, WhatIsWrongIsSaid) {
    EXPECT_EQ(complaint("step (\\d+)"), R"(needs a group (?<step>\d+))");
    EXPECT_THAT(complaint(R"((?<step>\d+ loss)"), HasSubstr("no regular expression: "));
    EXPECT_EQ(complaint(R"((?<step>\d+) (?<los>\S+))"),
              "no figure is called los; did you mean loss?");
    EXPECT_EQ(complaint(R"((?<step>\d+)(?<!x))"), "");
}

TEST(StepPattern, ALineThatTakesTooLongIsNoStep) {
    auto const pattern = StepPattern::make(R"((?<step>\d+)(a+)+(a+)+(a+)+$)");
    ASSERT_TRUE(pattern.has_value());
    EXPECT_FALSE(pattern->match("1" + std::string(1000, 'a') + "b").has_value());
}

TEST(StepPattern, TheValidatorChecksIt) {
    std::string const exec = "[run]\njob = \"exec\"\n[worker]\ncommand = [\"x\"]\nstep_pattern = ";
    EXPECT_THAT(texts(resolve(exec + "'(?<step>\\d+)'\n").problems), IsEmpty());
    EXPECT_THAT(texts(resolve(exec + "\"none\"\n").problems), IsEmpty());
    EXPECT_THAT(texts(resolve(exec + "\"step\"\n").problems),
                ElementsAre("run.toml:5: worker.step_pattern = \"step\": needs a group "
                            R"((?<step>\d+))"));
    EXPECT_THAT(problems_of("worker.step_pattern = '(?<step>\\d+)'"),
                ElementsAre(HasSubstr("is used with run.job = \"exec\" only")));
}

}  // namespace
}  // namespace osora::plan
