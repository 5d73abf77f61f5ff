// Lines as common programs print them, steps on the descriptor, and the clock.
#include "daemon/steps/exec_steps.hpp"
#include "base/text/line_splitter.hpp"
#include "daemon/agent/last_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::daemon {
namespace {

using plan::StepFigures;
using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::Pair;

struct Printed {
    char const* who;
    char const* line;
    StepFigures figures;
};

class KnownLine : public testing::TestWithParam<Printed> {};

TEST_P(KnownLine, IsAStep) {
    auto const found = find_step(GetParam().line);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->size(), GetParam().figures.size()) << testing::PrintToString(*found);
    for (auto const& [name, value] : GetParam().figures) {
        ASSERT_TRUE(found->contains(name)) << name;
        if (!std::isnan(value)) {
            EXPECT_NEAR(found->at(name), value, 1e-9 * std::abs(value)) << name;
        } else {
            EXPECT_TRUE(std::isnan(found->at(name))) << name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Trainers, KnownLine,
    testing::Values(
        Printed{"Megatron-LM",
                " [2024-03-05 10:11:12] iteration       10/    5000 | consumed samples:          "
                "320 | elapsed time per iteration (ms): 1234.5 | learning rate: 1.500E-04 | global "
                "batch size:    32 | lm loss: 1.080E+01 | loss scale: 1.0 | grad norm: 2.130 |",
                {{"step", 10},
                 {"time_s", 1.2345},
                 {"lr", 1.5e-4},
                 {"loss", 10.8},
                 {"grad_norm", 2.13}}},
        Printed{"nanoGPT",
                "iter 1200: loss 2.5313, time 310.20ms, mfu 5.12%",
                {{"step", 1200}, {"loss", 2.5313}, {"time_s", 0.3102}}},
        Printed{"DeepSpeed",
                "steps: 10 loss: 0.5312 iter time (s): 0.310 samples/sec: 103.226",
                {{"step", 10}, {"loss", 0.5312}, {"time_s", 0.310}}},
        Printed{"a DDP tutorial", "[rank0] step 12 loss 0.2", {{"step", 12}, {"loss", 0.2}}},
        Printed{"key=value",
                "step=12 time_s=0.31 loss=0.2",
                {{"step", 12}, {"time_s", 0.31}, {"loss", 0.2}}},
        Printed{"a dict",
                "{'step': 40, 'train_loss': 1.25, 'lr': 5e-05}",
                {{"step", 40}, {"loss", 1.25}, {"lr", 5e-5}}},
        Printed{"JSON",
                R"({"global_step": 40, "loss": 1.25, "grad_norm": 0.5})",
                {{"step", 40}, {"loss", 1.25}, {"grad_norm", 0.5}}},
        Printed{"Lightning's bar",
                "Epoch 0:  12%|#2        | 12/100 [00:03<00:25,  3.40it/s, loss=0.251, v_num=3]",
                {{"step", 12}, {"loss", 0.251}, {"time_s", 1 / 3.4}}},
        Printed{"a slow bar",
                " 3%|3  | 30/1000 [05:01<2:42:11, 10.03s/it, loss=0.1]",
                {{"step", 30}, {"loss", 0.1}, {"time_s", 10.03}}},
        Printed{"s/step",
                "step 1,240/70,000  loss 0.1432  7.28 s/step  140.6 samples/s",
                {{"step", 1240}, {"loss", 0.1432}, {"time_s", 7.28}}},
        Printed{"a loss that is lost", "Step: 7, Loss: nan", {{"step", 7}, {"loss", NAN}}},
        Printed{"step_time",
                "Iter #8 | step time 0.25 | loss .5",
                {{"step", 8}, {"time_s", 0.25}, {"loss", 0.5}}}),
    [](auto const& each) {
        std::string name;
        for (char const letter : std::string(each.param.who)) {
            if (std::isalnum(static_cast<unsigned char>(letter))) name += letter;
        }
        return name;
    });

TEST(FindStep, OtherLinesAreNone) {
    for (char const* line :
         {"", "step 1: download the data", "steps: 1000, loss scale: 65536",
          "Downloading: 12%|#2  | 12/100 [00:03<00:25, 3.4it/s]", "loss 0.5",
          "next step at 12:31:07", "iteration loss", "training time: 12:31:07 step one",
          "footsteps 3 loss 0.5", "bootstep3 loss 1"}) {
        EXPECT_FALSE(find_step(line).has_value()) << line;
    }
}

TEST(FindStep, TheTimeOfDayIsNoStepTime) {
    auto const found = find_step("time: 12:31:07 step 3 loss 0.5");
    ASSERT_TRUE(found.has_value());
    EXPECT_FALSE(found->contains("time_s"));
}

TEST(FindStep, AnyBytesAreAccepted) {
    std::string line(20'000, '\xff');
    EXPECT_FALSE(find_step(line).has_value());
    for (std::size_t i = 0; i < line.size(); ++i) line[i] = "step 1"[i % 6];
    EXPECT_FALSE(find_step(line).has_value());
    EXPECT_FALSE(find_step("step 999999999999999999999999 loss 1e999").has_value() &&
                 said_step(*find_step("step 999999999999999999999999 loss 1e999")).has_value());
}

TEST(StepRecord, SaysWhatItWants) {
    auto const read = parse_step_record("  step=3 time_s=0.5\tloss=1e-2 colour=7 \r");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_THAT(*read, ElementsAre(Pair("colour", 7), Pair("loss", 0.01), Pair("step", 3),
                                   Pair("time_s", 0.5)));
    auto const said = said_step(*read);
    ASSERT_TRUE(said.has_value());
    EXPECT_EQ(said->metrics.step, 3);
    EXPECT_EQ(said->metrics.step_time_s, 0.5);
    EXPECT_THAT(said->said, ElementsAre("loss", "step", "step_time_s"));
}

TEST(StepRecord, WhatIsWrongIsSaid) {
    EXPECT_EQ(parse_step_record("time_s=1").error().message, "no step=N");
    EXPECT_EQ(parse_step_record("step=x").error().message, "'step=x': not a number");
    EXPECT_EQ(parse_step_record("step").error().message, "'step': expected name=number");
    for (char const* line : {"step=-1", "step=1e12", "step=1 time_s=-1", "step=nan"}) {
        EXPECT_FALSE(said_step(parse_step_record(line).value()).has_value()) << line;
    }
}

TEST(ExecSteps, TheClockTimesWhatTheProgramDoesNot) {
    ExecSteps steps;
    auto const output = StepSource::output;
    EXPECT_FALSE(steps.take({{"step", 0}, {"loss", 1}}, output, 1000ms).has_value());
    auto const next = steps.take({{"step", 1}, {"loss", 0.5}}, output, 1250ms);
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->metrics.step, 1);
    EXPECT_DOUBLE_EQ(next->metrics.step_time_s, 0.25);
    EXPECT_FALSE(steps.take({{"step", 1}, {"loss", 0.7}}, output, 1300ms).has_value());
    auto const tenth = steps.take({{"step", 11}, {"loss", 0.5}}, output, 3250ms);
    EXPECT_DOUBLE_EQ(tenth->metrics.step_time_s, 0.2);
}

TEST(ExecSteps, AProgramThatCountsAgainContinues) {
    ExecSteps steps;
    auto at = [&](int step) {
        return steps.take({{"step", step}, {"time_s", 1}}, StepSource::output, 0ms)->metrics.step;
    };
    EXPECT_EQ(at(0), 0);
    EXPECT_EQ(at(1), 1);
    EXPECT_EQ(at(2), 2);
    EXPECT_EQ(at(0), 3);
    EXPECT_EQ(at(1), 4);
    EXPECT_EQ(at(0), 5);
}

std::vector<int> taken(ExecSteps& steps, std::vector<int> const& printed) {
    std::vector<int> result;
    for (int const step : printed) {
        auto const said = steps.take({{"step", step}, {"time_s", 1}}, StepSource::output, 0ms);
        if (said) result.push_back(said->metrics.step);
    }
    return result;
}

TEST(ExecSteps, AProgramThatCountsFromOneDoesAsManyStepsAsItSays) {
    ExecSteps first;
    EXPECT_THAT(taken(first, {1, 2, 3, 1, 2}), ElementsAre(0, 1, 2, 3, 4)) << "two epochs";
    EXPECT_TRUE(first.counts_from_one());
    ExecSteps resumed(true);
    EXPECT_THAT(taken(resumed, {501, 502}), ElementsAre(500, 501));
    EXPECT_TRUE(resumed.counts_from_one());
    ExecSteps timed;  // the first step only starts the clock
    EXPECT_FALSE(timed.take({{"step", 1}, {"loss", 1}}, StepSource::output, 0ms).has_value());
    EXPECT_EQ(timed.take({{"step", 2}, {"loss", 1}}, StepSource::output, 1ms)->metrics.step, 1);
}

TEST(ExecSteps, OtherNumbersStayAsTheProgramGivesThem) {
    ExecSteps from_zero, unknown, anew(true);
    EXPECT_THAT(taken(from_zero, {0, 1, 2}), ElementsAre(0, 1, 2));
    EXPECT_THAT(taken(unknown, {10, 20}), ElementsAre(10, 20));
    EXPECT_THAT(taken(anew, {0, 1}), ElementsAre(0, 1));
    EXPECT_FALSE(from_zero.counts_from_one() || unknown.counts_from_one());
}

// As Megatron-LM with --log-interval 10: 100 steps are done after step 100.
TEST(ExecSteps, AProgramThatReportsEveryTenthStepCountsFromOne) {
    ExecSteps tenth(false, true);
    EXPECT_THAT(taken(tenth, {10, 20, 90, 100}), ElementsAre(10, 19, 89, 99));
    EXPECT_TRUE(tenth.counts_from_one());
    std::vector<std::vector<int>> const as_given{{9, 19, 29}, {500, 501, 502}, {0, 10, 20}};
    for (auto const& printed : as_given) {
        ExecSteps other(false, true);
        EXPECT_EQ(taken(other, printed), printed);
        EXPECT_FALSE(other.counts_from_one());
    }
}

TEST(ExecSteps, AProgramThatCountsAgainForEverStopsAtTheLastStep) {
    ExecSteps steps;
    int last = -1, reported = 0;
    for (int step : {999'999'998, 0, 999'999'998, 5, 999'999'998, 0, 1, 999'999'998, 2}) {
        auto const said = steps.take({{"step", step}, {"time_s", 1}}, StepSource::output, 0ms);
        if (!said) continue;
        EXPECT_GT(said->metrics.step, last);
        EXPECT_LT(said->metrics.step, 1'000'000'000);
        last = said->metrics.step;
        ++reported;
    }
    EXPECT_EQ(reported, 2);  // 999,999,998, then 0 as 999,999,999
}

TEST(ExecSteps, TheDescriptorSilencesTheOutput) {
    ExecSteps steps;
    StepFigures const figures{{"step", 5}, {"time_s", 1}};
    EXPECT_TRUE(steps.take(figures, StepSource::descriptor, 0ms).has_value());
    EXPECT_FALSE(steps.take({{"step", 6}, {"time_s", 1}}, StepSource::output, 0ms).has_value());
    EXPECT_TRUE(steps.take({{"step", 6}, {"time_s", 1}}, StepSource::descriptor, 0ms).has_value());
}

TEST(LineSplitter, PiecesOfAnySizeGiveTheSameLines) {
    std::string const text = "one\ntwo\r\n\n three\r" + std::string(40'000, 'x') + "\nend";
    std::vector<std::string> whole;
    auto into = [](std::vector<std::string>& lines) {
        return [&lines](std::string_view line) { lines.emplace_back(line); };
    };
    LineSplitter all;
    all.feed(text, into(whole));
    EXPECT_THAT(whole,
                ElementsAre("one", "two", " three", std::string(LineSplitter::kLineMax, 'x')));
    for (std::size_t const size : {1, 2, 3, 7, 1000}) {
        LineSplitter pieces;
        std::vector<std::string> lines;
        for (std::size_t at = 0; at < text.size(); at += size) {
            pieces.feed(std::string_view(text).substr(at, size), into(lines));
        }
        EXPECT_EQ(lines, whole) << size;
    }
}

TEST(LastLine, NamesTheError) {
    EXPECT_EQ(last_line_of("step 1 loss 2\nTraceback (most recent call last):\n  File \"x\"\n"
                           "ValueError: 3 is not 4\n[W socket.cpp] destroyed\n"),
              "ValueError: 3 is not 4");
    EXPECT_EQ(last_line_of("[rank12]:   File \"x\"\n[rank12]: RuntimeError: no\n"),
              "RuntimeError: no");
    EXPECT_EQ(last_line_of("hello\nworld\nstep 3 loss 0.5\n\n"), "world");
    EXPECT_EQ(last_line_of("no end of line"), "no end of line");
    EXPECT_EQ(last_line_of(""), "");
    EXPECT_EQ(last_line_of("bad \xff\x01 bytes\n"), "bad ?? bytes");
    EXPECT_EQ(last_line_of(std::string(1000, 'a')).size(), 300u);
}

}  // namespace
}  // namespace osora::daemon
