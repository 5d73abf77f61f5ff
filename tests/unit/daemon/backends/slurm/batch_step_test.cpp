// The batch step with a script as controller.
#include "daemon/backends/slurm/batch_step.hpp"

#include "base/log/log_sinks.hpp"
#include "tests/unit/daemon/service/fake_controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace osora::daemon {
namespace {

using testing::ElementsAre;

TEST(BatchStep, ControllersReopenTheRunUntilItsJournalShowsThatOneDid) {
    FakeController const controller;
    controller.die_before_and_after_the_run_is_reopened();
    FakeEnv env;
    MemorySink sink;
    Logger log(sink, env);
    BatchOptions const options{controller.paths, controller.osorad, {"PATH=/usr/bin:/bin"}};
    sigset_t before;
    ::sigprocmask(SIG_SETMASK, nullptr, &before);
    auto const exit_code = run_batch(options, env, log);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ASSERT_TRUE(exit_code.has_value()) << exit_code.error().message;
    EXPECT_EQ(*exit_code, 1);
    EXPECT_THAT(controller.calls(), ElementsAre("--resume", "--resume", ""));
}

}  // namespace
}  // namespace osora::daemon
