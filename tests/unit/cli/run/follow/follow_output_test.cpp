#include "cli/run/follow/follow_output.hpp"

#include "protocol/json.hpp"
#include "views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <sstream>

namespace osora::cli {
namespace {

using testing::ElementsAre;

/// As much of a terminal as osora uses: \r, \n, wrapping, cursor up (ESC [ n A), clear to the end
/// (ESC [ J), colours (ignored).
class FakeTerminal {
public:
    explicit FakeTerminal(int columns) : columns_(columns) { rows_.emplace_back(); }

    void write(std::string_view text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\x1b') {
                i = sequence(text, i + 2);
            } else if (text[i] == '\r') {
                column_ = 0;
            } else if (text[i] == '\n') {
                down();
                column_ = 0;  // the line discipline adds the \r
            } else {
                put(text[i]);
            }
        }
    }
    /// Rows without trailing blanks; nothing may be below the cursor's last row.
    [[nodiscard]] std::vector<std::string> rows() const {
        std::vector<std::string> rows = rows_;
        while (!rows.empty() && rows.back().empty()) rows.pop_back();
        return rows;
    }

private:
    std::size_t sequence(std::string_view text, std::size_t at) {
        int count = 1;
        auto const digits = text.find_first_not_of("0123456789", at);
        std::from_chars(text.data() + at, text.data() + digits, count);
        if (text[digits] == 'A')
            row_ -= std::min<std::size_t>(row_, static_cast<std::size_t>(count));
        if (text[digits] == 'J') {
            rows_[row_].resize(std::min(rows_[row_].size(), column_));
            rows_.resize(row_ + 1);
        }
        return digits;
    }
    void down() {
        if (++row_ == rows_.size()) rows_.emplace_back();
    }
    void put(char byte) {
        bool const starts = (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
        if (starts && column_ == static_cast<std::size_t>(columns_)) {
            down();
            column_ = 0;
        }
        if (!starts) byte = '\0';  // one cell for a code point
        if (byte == '\0') return;
        rows_[row_].resize(std::max(rows_[row_].size(), column_ + 1), ' ');
        rows_[row_][column_++] = byte;
    }
    int columns_;
    std::vector<std::string> rows_;
    std::size_t row_ = 0;
    std::size_t column_ = 0;
};

Moment moment(double seconds) {
    return {seconds, Story::kStart_us + static_cast<std::int64_t>(seconds * 1e6)};
}

struct Training {
    explicit Training(FollowOutput& to) : output(to) {
        feed(story.submitted(1, 100));
        feed(story.plan(0.2));
        for (auto const& each : story.launch(0.1, 0, 1, 0)) feed(each);
    }
    void feed(protocol::JournalRecord const& record) {
        auto const before = view;
        fold(view, record);
        output.record(before, record, view);
    }
    /// `count` steps in a chunk, without a call of record(), as follow does it.
    void train(double at_s, int step0, int count) {
        fold(view, story.steps(at_s, 0, 1, {step0, count}, {0.2, 0.5}));
    }
    FollowOutput& output;
    Story story;
    protocol::RunView view;
};

TEST(TerminalOutput, UpdatesInPlaceAndLeavesOnlyLinesThatMatter) {
    FakeTerminal screen(80);
    auto const output = terminal_output([&](std::string_view text) { screen.write(text); },
                                        {0.2, 0}, {true, false, 80});
    Training run(*output);
    for (int step = 0; step < 100; ++step) {
        run.train(1 + 0.2 * step, step, 1);
        run.output.tick(run.view, moment(1 + 0.2 * step));
        if (step == 50) output->say("a line in between");
    }
    EXPECT_THAT(screen.rows(), ElementsAre("launch   1 rank in 500 ms", "a line in between",
                                           testing::StartsWith("step 100/100  loss 0.5"),
                                           testing::StartsWith("  mem 1.25 GiB")));
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::ok;
    run.feed(run.story.record(30, ended));
    output->end(run.view, "");
    EXPECT_THAT(screen.rows(), ElementsAre("launch   1 rank in 500 ms", "a line in between",
                                           testing::StartsWith("done     100 steps in 30.0 s"),
                                           testing::HasSubstr("next: osora report 42"),
                                           "verdict  fine: ranks work 92 % of the step"));
}

TEST(TerminalOutput, ShowsWhatIsWaitedForUntilTheRunSpeaks) {
    FakeTerminal screen(40);
    auto const output =
        terminal_output([&](std::string_view text) { screen.write(text); }, {}, {true, false, 40});
    protocol::RunView const view;
    output->waiting("slurm    job 12 - queued 00:00:01");
    output->tick(view, moment(1));
    output->waiting("slurm    job 12 - queued 00:00:02");
    output->tick(view, moment(2));
    EXPECT_THAT(screen.rows(), ElementsAre("slurm    job 12 - queued 00:00:02"));
    output->waiting("");
    output->tick(view, moment(3));
    EXPECT_THAT(screen.rows(), ElementsAre(testing::StartsWith("starting the controller")));
}

TEST(TerminalOutput, ErasesWhatANarrowerTerminalHasWrapped) {
    // The terminal is already 30 wide while osora still assumes 80: its lines wrap. Then it is
    // notified.
    FakeTerminal screen(30);
    auto const output = terminal_output([&](std::string_view text) { screen.write(text); },
                                        {0.2, 0}, {true, false, 80});
    Training run(*output);
    run.train(1, 0, 1);
    output->tick(run.view, moment(1));
    output->resized(30, 24);
    run.train(2, 1, 1);
    output->tick(run.view, moment(2));
    EXPECT_THAT(screen.rows(),
                ElementsAre("launch   1 rank in 500 ms", testing::StartsWith("step 2/100"),
                            testing::StartsWith("  ETA")));
}

TEST(PipeOutput, ALineEveryTenthOrEveryTenSeconds) {
    std::vector<std::string> lines;
    auto const output =
        pipe_output([&](std::string_view text) { lines.emplace_back(text.substr(0, 12)); }, {});
    Training run(*output);
    for (int step = 0; step < 100; ++step) {
        run.train(1 + 0.2 * step, step, 1);
        output->tick(run.view, moment(1 + 0.2 * step));
        output->tick(run.view, moment(1 + 0.2 * step));  // nothing new: nothing said
    }
    EXPECT_THAT(lines, ElementsAre("launch   1 r", "step 1/100  ", "step 10/100 ", "step 20/100 ",
                                   "step 30/100 ", "step 40/100 ", "step 50/100 ", "step 60/100 ",
                                   "step 70/100 ", "step 80/100 ", "step 90/100 ", "step 100/100"));
    lines.clear();
    Training slow(*output);
    slow.train(1000, 0, 1);
    output->tick(slow.view, moment(1000));
    slow.train(1009, 1, 1);
    output->tick(slow.view, moment(1009));
    slow.train(1011, 2, 1);
    output->tick(slow.view, moment(1011));
    EXPECT_THAT(lines, ElementsAre(testing::_, "step 1/100  ", "step 3/100  "));
}

TEST(JsonOutput, EveryLineIsAnObjectWithItsSchema) {
    std::string text;
    auto const output = json_output([&](std::string_view line) { text += line; });
    Training run(*output);
    run.train(1, 0, 1);
    output->tick(run.view, moment(1));
    run.train(1.1, 1, 1);
    output->tick(run.view, moment(1.1));  // too early for another progress line
    output->say("hello");
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::ok;
    run.feed(run.story.record(2, ended));
    output->end(run.view, "");
    std::istringstream lines(text);
    std::vector<std::string> kinds;
    protocol::json::object last;
    for (std::string line; std::getline(lines, line);) {
        auto const value = protocol::parse_json(line);
        ASSERT_TRUE(value.has_value()) << line;
        last = value->as_object();
        std::string kind(last.at("schema").as_string());
        if (last.contains("type")) kind += " " + std::string(last.at("type").as_string());
        kinds.push_back(kind);
    }
    EXPECT_THAT(kinds, ElementsAre("osora.event/1 submitted", "osora.event/1 plan",
                                   "osora.event/1 controller", "osora.event/1 agent_joined",
                                   "osora.event/1 launch", "osora.event/1 rank_started",
                                   "osora.progress/1", "osora.message/1", "osora.event/1 ended",
                                   "osora.progress/1", "osora.end/1"));
    EXPECT_EQ(last.at("verdict"), "ok");
    EXPECT_EQ(last.at("steps_done"), 2);
}

}  // namespace
}  // namespace osora::cli
