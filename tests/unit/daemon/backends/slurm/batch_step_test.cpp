// The batch step with a script as controller.
#include "daemon/backends/slurm/batch_step.hpp"

#include "base/log/log_sinks.hpp"
#include "tests/unit/daemon/service/fake_controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

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

/// Puts the program back when its first start has failed.
class RepairingSink final : public LogSink {
public:
    RepairingSink(std::filesystem::path from, std::filesystem::path to)
        : from_(std::move(from)), to_(std::move(to)) {}
    void write(LogEntry const& entry) override {
        if (entry.message != "restarting the controller") return;
        ++restarts;
        std::error_code gone;
        std::filesystem::rename(from_, to_, gone);
    }
    int restarts = 0;

private:
    std::filesystem::path from_, to_;
};

TEST(BatchStep, TriesAgainWhenAControllerCannotBeStarted) {
    FakeController const controller;
    controller.write_journal("journal", 1);
    controller.act("exit 1\n");
    auto const away = controller.folder.path() / "away";
    std::filesystem::rename(controller.osorad, away);
    FakeEnv env;
    RepairingSink sink(away, controller.osorad);
    Logger log(sink, env);
    BatchOptions const options{controller.paths, controller.osorad, {"PATH=/usr/bin:/bin"}};
    sigset_t before;
    ::sigprocmask(SIG_SETMASK, nullptr, &before);
    auto const exit_code = run_batch(options, env, log);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ASSERT_TRUE(exit_code.has_value()) << exit_code.error().message;
    EXPECT_EQ(*exit_code, 1);
    EXPECT_EQ(sink.restarts, 1);
    EXPECT_THAT(controller.calls(), ElementsAre("--resume"));
}

}  // namespace
}  // namespace osora::daemon
