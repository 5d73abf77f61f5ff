#include "cli/command/explanations.hpp"

#include "protocol/exit_codes.hpp"
#include "protocol/verdicts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace osora::cli {
namespace {

using protocol::RankEnd;
using protocol::RunView;
using protocol::Verdict;

TEST(Explanations, AreSortedUniqueAndWhole) {
    std::string before;
    for (Explanation const& each : explanations()) {
        EXPECT_LT(before, std::string(each.id));
        before = std::string(each.id);
        EXPECT_TRUE(each.id.starts_with("E-")) << each.id;
        EXPECT_LT(each.id.size(), 19u) << each.id;
        EXPECT_FALSE(each.title.empty() || each.title.ends_with('.')) << each.id;
        EXPECT_TRUE(each.meaning.ends_with('.')) << each.id;
        EXPECT_FALSE(each.causes.empty() || each.next.empty()) << each.id;
        EXPECT_NE(each.exit_code, 0) << each.id;
    }
}

TEST(Explanations, AreFoundByIdWordAndExitCodeOfTheWorker) {
    for (char const* wanted : {"E-comm", "e-COMM", "comm", "10"}) {
        ASSERT_NE(find_explanation(wanted), nullptr) << wanted;
        EXPECT_EQ(find_explanation(wanted)->id, "E-comm") << wanted;
    }
    for (char const* wanted : {"", "E-", "0", "E-com", "999"})
        EXPECT_EQ(find_explanation(wanted), nullptr) << wanted;
    using namespace protocol;
    for (int const code : {kExitComm, kExitRefused, kExitOutOfMemory, kExitData, kExitConfiguration,
                           kExitCheckFailed, kExitEndedByController, kExitGpu, kExitDoNotRequeue}) {
        EXPECT_NE(find_explanation(std::to_string(code)), nullptr) << code;
    }
}

TEST(Explanations, EachKindOfDamagedClipHasOne) {
    for (char const* kind : {"row", "missing", "empty", "unreadable", "damaged", "short", "size",
                             "slow", "too_large"}) {
        EXPECT_NE(find_explanation(std::string("E-clip-") + kind), nullptr) << kind;
    }
}

std::string_view of(Verdict verdict, RankEnd end = {}, bool exec = false, bool failed = true) {
    RunView view;
    view.status.verdict = verdict;
    view.status.exec = exec;
    if (failed) view.first_failures[view.status.attempt] = end;
    return explanation_of(view);
}

RankEnd exited(int code) {
    RankEnd end;
    end.exit_code = code;
    return end;
}

RankEnd killed(int signal, bool oom = false) {
    RankEnd end;
    end.signal = signal;
    end.oom_killed = oom;
    return end;
}

TEST(Explanations, EveryEndOfARunHasOne) {
    EXPECT_EQ(of(Verdict::ok), "");
    EXPECT_EQ(of(Verdict::none), "");
    auto const first = static_cast<int>(Verdict::app_bug);
    for (int i = first; i <= static_cast<int>(Verdict::internal); ++i) {
        for (bool const failed : {true, false}) {
            auto const id = of(static_cast<Verdict>(i), {}, false, failed);
            EXPECT_NE(find_explanation(id), nullptr) << i << " " << id;
        }
    }
    EXPECT_EQ(of(Verdict::app_bug, exited(14)), "E-configuration");
    EXPECT_EQ(of(Verdict::app_bug, exited(15)), "E-check");
    EXPECT_EQ(of(Verdict::app_bug, exited(0)), "E-early-exit");
    EXPECT_EQ(of(Verdict::app_bug, exited(93)), "E-stopped");
    EXPECT_EQ(of(Verdict::app_bug, killed(11)), "E-crash");
    EXPECT_EQ(of(Verdict::app_bug, exited(1), true), "E-program");
    EXPECT_EQ(of(Verdict::oom, exited(12)), "E-oom");
    EXPECT_EQ(of(Verdict::oom, exited(11)), "E-refused");
    EXPECT_EQ(of(Verdict::oom, killed(9, true)), "E-killed");
    EXPECT_EQ(of(Verdict::node_fault, killed(9)), "E-killed");
    EXPECT_EQ(of(Verdict::node_fault, exited(16)), "E-ended");
    EXPECT_EQ(of(Verdict::node_fault, {}, false, false), "E-node");
    EXPECT_EQ(of(Verdict::app_bug, exited(17)), "E-gpu");
    RankEnd faulty = exited(1);
    faulty.blames_host = true;
    EXPECT_EQ(of(Verdict::node_fault, faulty, true), "E-gpu");
}

// What the table of protocol/verdicts makes of a worker's exit code leads to the explanation that
// names this code.
TEST(Explanations, AgreeWithTheVerdictsOfExitCodes) {
    for (Explanation const& each : explanations()) {
        if (each.worker_exit_code == 0) continue;
        protocol::RankFailed failed;
        failed.exit_code = each.worker_exit_code;
        auto const verdict = protocol::classify_failure(failed, false).verdict;
        EXPECT_EQ(of(verdict, exited(each.worker_exit_code)), each.id);
    }
}

TEST(Explanations, ErrorsOfCommandsHaveOneUnlessTheirMessageSaysAll) {
    for (Errc const code : {Errc::out_of_memory, Errc::out_of_space, Errc::unreachable,
                            Errc::timed_out, Errc::corrupt, Errc::busy, Errc::io}) {
        EXPECT_NE(find_explanation(explanation_of(code)), nullptr) << static_cast<int>(code);
    }
    EXPECT_EQ(explanation_of(Errc::invalid_input), "");
}

TEST(Explanations, TheGuideHasAll) {
    std::ifstream file(OSORA_SOURCE_DIR "/docs/guide/errors.md");
    std::string const page{std::istreambuf_iterator<char>(file), {}};
    for (Explanation const& each : explanations()) {
        EXPECT_THAT(page, testing::HasSubstr("## " + std::string(each.id) + ": " +
                                             std::string(each.title)));
        EXPECT_THAT(page, testing::HasSubstr(std::string(each.meaning)));
    }
    EXPECT_EQ(std::ranges::count(page, '#'), 1 + 2 * static_cast<int>(explanations().size()));
}

}  // namespace
}  // namespace osora::cli
