// Rows of the table in docs/rfc/001, and a sweep for what must never happen.
#include "slurm/escalation.hpp"

#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using protocol::Verdict;

EscalationState running() {
    EscalationState state;
    state.restarts_left = 3;
    state.nodes_needed = 4;
    state.nodes_usable = 4;
    state.jobs_left = 3;
    return state;
}

Escalation action(EscalationState const& state) {
    return next_escalation(state).action;
}

TEST(Escalation, CheapestFirst) {
    auto state = running();
    EXPECT_EQ(action(state), Escalation::relaunch);
    state.node_is_bad = true;
    EXPECT_EQ(action(state), Escalation::swap_node);
    state.nodes_usable = 3;
    EXPECT_EQ(action(state), Escalation::follow_job);
    state.can_submit = false;
    EXPECT_EQ(action(state), Escalation::requeue);
    state.jobs_left = 0;
    EXPECT_EQ(action(state), Escalation::stop);
}

TEST(Escalation, TimeAndPreemptionContinueInAnotherJob) {
    auto state = running();
    state.verdict = Verdict::cancelled;  // osora stopped it gracefully because Slurm warned it
    state.warning = JobWarning::time_limit;
    EXPECT_EQ(action(state), Escalation::follow_job);
    state.warning = JobWarning::preemption;
    EXPECT_EQ(action(state), Escalation::follow_job);
    state.warning = JobWarning::none;
    EXPECT_EQ(action(state), Escalation::stop);
}

// Of a job that ends at 10,000 s.
TEST(JobWarning, TheTimeLimitRemainsTheReasonWhenTheJobIsEnded) {
    auto const warned = [](std::int64_t now_s, std::optional<std::int64_t> end_s = 10'000) {
        return warning_of({.is_warning = true, .end_s = end_s, .now_s = now_s}, JobWarning::none);
    };
    auto const ended = [](std::int64_t now_s, JobWarning before,
                          std::optional<std::int64_t> end_s = 10'000) {
        return warning_of({.is_warning = false, .end_s = end_s, .now_s = now_s}, before);
    };
    EXPECT_EQ(warned(9'400), JobWarning::time_limit);
    EXPECT_EQ(warned(5'000), JobWarning::preemption) << "long before the end";
    EXPECT_EQ(warned(5'000, std::nullopt), JobWarning::time_limit);
    // A checkpoint takes longer than the warning: SIGTERM at the limit cancels no chain.
    EXPECT_EQ(ended(10'001, JobWarning::time_limit), JobWarning::time_limit);
    EXPECT_EQ(ended(10'001, JobWarning::none), JobWarning::time_limit);
    EXPECT_EQ(ended(5'100, JobWarning::preemption), JobWarning::preemption);
    EXPECT_EQ(ended(9'500, JobWarning::time_limit), JobWarning::none) << "scancel";
    EXPECT_EQ(ended(5'000, JobWarning::none), JobWarning::none);
    EXPECT_EQ(ended(5'000, JobWarning::time_limit, std::nullopt), JobWarning::time_limit);
    EXPECT_EQ(ended(5'000, JobWarning::none, std::nullopt), JobWarning::none);
    // Its limit was raised by two hours while it ran.
    EXPECT_EQ(warned(16'600), JobWarning::time_limit);
    EXPECT_EQ(ended(17'200, JobWarning::time_limit), JobWarning::time_limit);
    EXPECT_EQ(ended(17'200, JobWarning::none), JobWarning::none);
}

// Texts of slurmstepd (src/slurmd/slurmstepd/req.c).
TEST(JobLog, TellsACancelledJobFromOneWhoseTimeIsOver) {
    std::string const cancelled =
        "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-28T17:00:00";
    EXPECT_TRUE(says_cancelled("ready\n" + cancelled + " ***\n", "12"));
    EXPECT_TRUE(says_cancelled(cancelled + " DUE to SIGNAL Terminated ***", "12"));
    EXPECT_TRUE(says_cancelled(cancelled + " ***\ntime=17:00:01 level=info msg=\"end\"\n", "12"));
    for (char const* why :
         {" DUE TO TIME LIMIT ***", " DUE TO PREEMPTION ***", " DUE TO JOB REQUEUE ***",
          " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"}) {
        EXPECT_FALSE(says_cancelled(cancelled + why + "\n", "12")) << why;
        EXPECT_FALSE(says_cancelled(cancelled + " ***\n" + cancelled + why + "\n", "12")) << why;
    }
    EXPECT_FALSE(says_cancelled(cancelled + " ***\n", "1")) << "of another job";
    EXPECT_FALSE(says_cancelled(cancelled + " ***\n", "2"));
    EXPECT_FALSE(says_cancelled(cancelled, "12")) << "torn";
    EXPECT_FALSE(says_cancelled("", "12"));
}

TEST(Escalation, AUsersStopIsFinalWhateverSlurmWarnsOf) {
    for (auto const warning : {JobWarning::none, JobWarning::time_limit, JobWarning::preemption}) {
        for (auto const verdict :
             {Verdict::cancelled, Verdict::controller_lost, Verdict::comm, Verdict::none}) {
            auto state = running();
            state.warning = warning;
            state.verdict = verdict;
            state.nodes_usable = 2;
            state.stopped_by_user = true;
            auto const step = next_escalation(state);
            EXPECT_EQ(step.action, Escalation::stop);
            EXPECT_EQ(step.reason, "cancelled on request");
        }
    }
}

TEST(Escalation, AWarningIsNoReasonToTryWhatWouldFailAgain) {
    for (auto const warning : {JobWarning::time_limit, JobWarning::preemption}) {
        for (auto const verdict : {Verdict::oom, Verdict::data, Verdict::internal}) {
            auto state = running();
            state.warning = warning;
            state.verdict = verdict;
            EXPECT_EQ(action(state), Escalation::stop);
        }
        for (auto const verdict : {Verdict::comm, Verdict::node_fault, Verdict::no_progress,
                                   Verdict::controller_lost, Verdict::none, Verdict::app_bug}) {
            auto state = running();
            state.warning = warning;
            state.verdict = verdict;
            EXPECT_EQ(action(state), Escalation::follow_job);
        }
    }
}

TEST(Escalation, WhatIsDoneOrHopelessIsNeverTriedAgain) {
    for (int bits = 0; bits < 64; ++bits) {
        for (Verdict const verdict : {Verdict::ok, Verdict::app_bug, Verdict::oom, Verdict::data,
                                      Verdict::cancelled, Verdict::comm, Verdict::node_fault}) {
            auto state = running();
            state.verdict = verdict;
            state.do_not_requeue = (bits & 1) != 0;
            state.node_is_bad = (bits & 2) != 0;
            state.nodes_usable = (bits & 4) != 0 ? 4 : 2;
            state.jobs_left = (bits & 8) != 0 ? 1 : 0;
            state.can_submit = (bits & 16) != 0;
            state.restarts_left = (bits & 32) != 0 ? 1 : 0;
            auto const step = next_escalation(state);
            EXPECT_FALSE(step.reason.empty());
            bool const hopeless = state.do_not_requeue || state.jobs_left == 0 ||
                                  (verdict != Verdict::comm && verdict != Verdict::node_fault);
            if (hopeless) {
                EXPECT_EQ(step.action, Escalation::stop) << bits;
            }
        }
    }
}

}  // namespace
}  // namespace osora::slurm
