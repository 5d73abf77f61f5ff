// The batch step with a script as controller.
#include "daemon/backends/slurm/batch_step.hpp"

#include "base/log/log_sinks.hpp"
#include "tests/unit/daemon/service/fake_controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
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

/// Whether the batch step of job 12, which Slurm warns of its time limit, says that the job was
/// cancelled. Its log holds `before` when it begins; `printed` follows after the warning.
bool is_called_cancelled(std::string const& before, std::string const& printed) {
    FakeController const controller;
    controller.write_journal("journal", 1);
    write_text(controller.paths.dir / "job-12.log", before);
    write_text(controller.paths.dir / "printed", printed);
    controller.act("while [ ! -e stop.json ]; do :; done\ncat printed >> job-12.log\nexit 1\n");
    FakeEnv env;
    MemorySink sink;
    Logger log(sink, env);
    BatchOptions const options{
        controller.paths, controller.osorad, {"PATH=/usr/bin:/bin", "SLURM_JOB_ID=12"}};
    sigset_t mask, warning;
    ::sigemptyset(&warning);
    ::sigaddset(&warning, SIGUSR2);
    ::sigprocmask(SIG_BLOCK, &warning, &mask);
    ::raise(SIGUSR2);
    EXPECT_TRUE(run_batch(options, env, log).has_value());
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    return std::ranges::any_of(sink.entries, [](LogEntry const& each) {
        return each.message == "the job was cancelled before its time limit";
    });
}

TEST(BatchStep, LooksForScancelInWhatTheJobHasPrintedSinceItBegan) {
    std::string const line = "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-01T00:00:00";
    EXPECT_TRUE(is_called_cancelled("ready\n", line + " ***\n"));
    EXPECT_FALSE(is_called_cancelled("ready\n", line + " DUE TO TIME LIMIT ***\n"));
    EXPECT_FALSE(is_called_cancelled(line + " ***\n", "ready\n")) << "it was requeued since";
    std::string const much(2 << 20, '\n');
    EXPECT_TRUE(is_called_cancelled(much, much + line + " ***\n"));
}

}  // namespace
}  // namespace osora::daemon
