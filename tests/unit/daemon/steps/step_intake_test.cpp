// Programs that write more than can be read: the cost of a look, whose turn it is, what is left
// out.
#include "daemon/steps/step_intake.hpp"

#include "plan/steps/step_finder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::int64_t kEndless = std::int64_t{1} << 50;

/// Repeats the same line.
class Repeating final : public ByteSource {
public:
    Repeating(std::string text, std::int64_t bytes, bool may_skip)
        : text_(std::move(text)), left_(bytes), may_skip_(may_skip) {}
    std::size_t read(std::span<char> into) override {
        std::size_t const most = static_cast<std::size_t>(
            std::min<std::int64_t>(static_cast<std::int64_t>(into.size()), left_));
        for (std::size_t i = 0; i < most; ++i) into[i] = text_[(at_ + i) % text_.size()];
        at_ = (at_ + most) % text_.size();
        left_ -= static_cast<std::int64_t>(most);
        return most;
    }
    std::int64_t behind() override { return may_skip_ ? left_ : 0; }
    void skip(std::int64_t bytes) override { left_ -= bytes; }
    [[nodiscard]] std::int64_t left() const { return left_; }

private:
    std::string text_;
    std::size_t at_ = 0;
    std::int64_t left_;
    bool may_skip_;
};

class Text final : public ByteSource {
public:
    explicit Text(std::string text) : text_(std::move(text)) {}
    std::size_t read(std::span<char> into) override {
        std::size_t const most = std::min(into.size(), text_.size() - at_);
        text_.copy(into.data(), most, at_);
        at_ += most;
        return most;
    }
    std::int64_t behind() override { return static_cast<std::int64_t>(text_.size() - at_); }
    void skip(std::int64_t bytes) override { at_ += static_cast<std::size_t>(bytes); }

private:
    std::string text_;
    std::size_t at_ = 0;
};

class Intake : public testing::Test {
protected:
    /// The clock advances by `tick` whenever it is read.
    ReadBudget budget(std::size_t bytes = ReadBudget::kBytes) {
        return ReadBudget([this] { return now += tick; }, bytes);
    }
    StepIntake rank(std::shared_ptr<ByteSource> records, std::shared_ptr<ByteSource> output) {
        return StepIntake({.records = std::move(records),
                           .output = std::move(output),
                           .finder = {.find =
                                          [this](std::string_view line) {
                                              ++looked_at;
                                              return find_step(line);
                                          }}},
                          [this](SaidStep said) { steps.push_back(said.metrics.step); });
    }
    bool look_at(StepIntake& rank, ReadBudget budget) {
        std::array<StepIntake*, 1> const alone{&rank};
        return look(alone, 0, budget);
    }
    static std::string lines(int first, int count) {
        std::string text;
        for (int i = first; i < first + count; ++i) {
            text += fmt::format("step {} loss 2.0 time_s=0.01\n", i);
        }
        return text;
    }
    MonotonicTime now{}, tick{};
    std::vector<int> steps;
    int looked_at = 0;
};

TEST_F(Intake, ALookReadsNoMoreThanItsBytes) {
    auto const source = std::make_shared<Repeating>("x y z\n", kEndless, false);
    auto intake = rank(source, nullptr);
    EXPECT_TRUE(look_at(intake, budget()));
    EXPECT_LE(kEndless - source->left(), std::int64_t{ReadBudget::kBytes} + (4 << 10));
    EXPECT_TRUE(look_at(intake, budget()));
}

TEST_F(Intake, ALookTakesNoMoreThanItsTimeWhateverALineCosts) {
    auto const source = std::make_shared<Repeating>("a step time loss 1\n", 3 << 20, true);
    auto intake = rank(nullptr, source);
    tick = 250us;
    MonotonicTime const begin = now;
    EXPECT_TRUE(look_at(intake, budget()));
    EXPECT_LE(now - begin, ReadBudget::kTime + 10 * tick);
    EXPECT_LT(looked_at, 25);
    int const first = looked_at;
    EXPECT_TRUE(look_at(intake, budget()));
    EXPECT_GT(looked_at, first) << "the next look goes on in the slice that is there";
}

TEST_F(Intake, RanksAreReadInTurns) {
    std::vector<std::shared_ptr<Repeating>> sources;
    std::vector<StepIntake> ranks;
    std::vector<StepIntake*> each;
    for (int i = 0; i < 8; ++i) {
        sources.push_back(std::make_shared<Repeating>("no word\n", kEndless, false));
        ranks.push_back(rank(sources.back(), nullptr));
    }
    for (auto& one : ranks) each.push_back(&one);
    ReadBudget spent = budget();
    EXPECT_TRUE(look(each, 3, spent));
    for (auto const& source : sources) EXPECT_EQ(kEndless - source->left(), (256 << 10) / 8);
    ReadBudget small = budget(4 << 10);
    EXPECT_TRUE(look(each, 3, small));
    EXPECT_LT(sources[3]->left(), sources[2]->left()) << "begins with the given one";
}

TEST_F(Intake, StepsOfAQuietProgramAreAllTaken) {
    tick = 1us;
    auto intake = rank(nullptr, std::make_shared<Text>(lines(0, 200)));
    while (look_at(intake, budget())) {}
    EXPECT_THAT(steps, SizeIs(200));
    EXPECT_EQ(intake.left_out().steps, 0);
}

TEST_F(Intake, StepsOfAChattyProgramAreTakenEveryTenMillisecondsAndTheLast) {
    tick = 1us;
    auto intake = rank(nullptr, std::make_shared<Text>(lines(0, 20'000)));
    while (look_at(intake, budget())) {}
    std::size_t const taken = steps.size();
    EXPECT_GE(taken, 256u);
    EXPECT_LE(taken, 256u + static_cast<std::size_t>(now / 10ms) + 3);
    EXPECT_LE(looked_at, static_cast<int>(taken) + 1) << "others are not looked at closely";
    intake.end(now);
    EXPECT_EQ(steps.back(), 19'999) << "how far it came";
    EXPECT_EQ(intake.left_out().steps + static_cast<std::int64_t>(steps.size()), 20'000);
    EXPECT_EQ(intake.left_out().bytes, 0);
}

TEST_F(Intake, RecordsAreThinnedTheSameWay) {
    tick = 1us;
    std::string text;
    for (int i = 0; i < 5000; ++i) text += fmt::format("step={} time_s=0.1\n", i);
    auto intake = rank(std::make_shared<Text>(text), nullptr);
    while (look_at(intake, budget())) {}
    intake.end(now);
    EXPECT_EQ(steps.back(), 4999);
    EXPECT_EQ(intake.left_out().steps + static_cast<std::int64_t>(steps.size()), 5000);
    EXPECT_LT(steps.size(), 300u);
}

TEST_F(Intake, ALogThatLagsFarContinuesNearItsEnd) {
    std::string const old(8 << 20, 'x');
    auto intake = rank(nullptr, std::make_shared<Text>(old + " step 1 loss 1\n" + lines(5, 4)));
    while (look_at(intake, budget())) {}
    EXPECT_THAT(steps, ElementsAre(5, 6, 7, 8)) << "the line that was cut is none";
    EXPECT_NEAR(static_cast<double>(intake.left_out().bytes), 8 << 20, 70 << 10);
}

TEST_F(Intake, ALogThatGrowsFasterThanItIsReadIsSkippedInEveryLook) {
    auto const source = std::make_shared<Repeating>(lines(7, 1), std::int64_t{5} << 30, true);
    auto intake = rank(nullptr, source);
    int looks = 0;
    while (look_at(intake, budget()) && looks < 1000) ++looks;
    EXPECT_LT(looks, 10);
    EXPECT_GT(intake.left_out().bytes, std::int64_t{4} << 30);
}

TEST_F(Intake, StepsBeforeTheLineThatExplainsThemAreTakenFirst) {
    auto const finder = std::make_shared<plan::StepFinder>();
    std::string log;
    for (int i = 1; i < 4; ++i) log += fmt::format("{}/90 [00:02<03:18, 2.2s/it]\r", i);
    log += "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n4/90 [00:09<03:11, 2.2s/it]\r";
    StepIntake intake(
        {.records = nullptr,
         .output = std::make_shared<Text>(log),
         .finder = {.find = [finder](std::string_view line) { return finder->find(line); },
                    .may_be = [finder](std::string_view line) { return finder->may_be(line); },
                    .end = [finder] { return finder->end(); },
                    .earlier = [finder] { return finder->earlier(); }}},
        [&](SaidStep said) { steps.push_back(said.metrics.step); });
    while (look_at(intake, budget())) {}
    EXPECT_THAT(steps, ElementsAre(0, 1, 2)) << "the first step is 0";
    intake.end(now);
    EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3));
}

TEST_F(Intake, AStepThatTheFinderKeptIsTakenAtTheEnd) {
    auto const finder = std::make_shared<plan::StepFinder>();
    std::string bars;
    for (int i = 1; i < 4; ++i) {
        for (int k = 0; k < 2; ++k) {
            bars += fmt::format("Steps: 1%|#| {}/90 [00:02<03:18, 2.2s/it, loss=0.{}]\r", i, k);
        }
    }
    std::vector<double> losses;
    StepIntake intake(
        {.records = nullptr,
         .output = std::make_shared<Text>(bars),
         .finder = {.find = [finder](std::string_view line) { return finder->find(line); },
                    .may_be = [finder](std::string_view line) { return finder->may_be(line); },
                    .end = [finder] { return finder->end(); }}},
        [&](SaidStep said) {
            steps.push_back(said.metrics.step);
            losses.push_back(said.metrics.loss);
        });
    while (look_at(intake, budget())) {}
    EXPECT_THAT(steps, ElementsAre(0, 1));
    intake.end(now);
    EXPECT_THAT(steps, ElementsAre(0, 1, 2));
    EXPECT_THAT(losses, ElementsAre(0.1, 0.1, 0.1)) << "of the last picture of each";
}

TEST_F(Intake, BytesThatAreNotTextAreAccepted) {
    std::string garbage;
    for (int i = 0; i < 100'000; ++i) garbage += static_cast<char>(i * 7919 >> 3);
    std::string const line(3 << 20, 'y');  // without an end
    auto intake =
        rank(std::make_shared<Text>(garbage),
             std::make_shared<Text>(garbage + line + std::string(1000, '\0') + "\n" + lines(5, 2)));
    while (look_at(intake, budget())) {}
    EXPECT_THAT(steps, ElementsAre(5, 6));
}

TEST_F(Intake, OutputIsNotReadOnceRecordsCame) {
    auto intake =
        rank(std::make_shared<Text>("step=3 time_s=1\n"), std::make_shared<Text>(lines(50, 3)));
    while (look_at(intake, budget())) {}
    EXPECT_THAT(steps, ElementsAre(3));
    EXPECT_EQ(looked_at, 0);
}

TEST(FindStep, ALineThatIsMeantToBeExpensiveCostsLittle) {
    for (std::string const& line :
         {"step loss time " + std::string(1000, '1'), "iter " + std::string(1000, ',') + " loss",
          "step 1 loss" + std::string(1000, ' ') + "x time", [] {
              std::string text = "step 1 time ";
              for (int i = 0; i < 200; ++i) text += "time_";
              return text + "/";
          }()}) {
        for (int i = 0; i < 200; ++i) (void)find_step(line);  // would take minutes
    }
}

TEST(MayBeStep, IsWhatFindStepWouldLookAt) {
    EXPECT_TRUE(may_be_step("Step 12 LOSS 0.2"));
    EXPECT_TRUE(may_be_step("12/100 [00:03<00:25, 3.4it/s, loss=0.2]"));
    EXPECT_FALSE(may_be_step("scheduler.step() was called before optimizer.step() 3"));
    EXPECT_FALSE(may_be_step("step loss"));
    EXPECT_FALSE(may_be_step("loss 3"));
}

TEST(LineSplitter, ACutLineIsNone) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    auto const keep = [&](std::string_view line) { lines.emplace_back(line); };
    splitter.feed("half", keep);
    splitter.cut();
    splitter.feed("rest\nwhole\n", keep);
    EXPECT_THAT(lines, ElementsAre("whole"));
}

TEST(LineSplitter, StopsWhenTheCallbackReturnsFalse) {
    LineSplitter splitter;
    std::string_view const text = "a\nb\nc\n";
    std::size_t const taken =
        splitter.feed_while(text, [](std::string_view l) { return l != "b"; });
    EXPECT_EQ(taken, 4u);
}

TEST(ExecSteps, CountingOnStopsAtItsLimit) {
    ExecSteps steps;
    for (int i = 0; i < 10; ++i) {
        for (double step : {999'999'998.0, 999'999'999.0, 0.0}) {
            auto const said = steps.take({{"step", step}, {"time_s", 1}}, StepSource::output, 0ms);
            EXPECT_TRUE(!said || said->metrics.step <= ExecSteps::kStepsMax);
        }
    }
}

}  // namespace
}  // namespace osora::daemon
