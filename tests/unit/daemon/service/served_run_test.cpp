// A run of the daemon with a script as controller. No test waits for a controller that does not
// end.
#include "daemon/service/served_run.hpp"

#include "base/files/file_lock.hpp"
#include "base/log/log_sinks.hpp"
#include "daemon/service/served_list.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/json.hpp"
#include "tests/unit/daemon/service/fake_controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::daemon {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;
using testing::HasSubstr;

/// Keeps the lines, and calls `on[message]` the first time that it is logged.
class ActingSink final : public LogSink {
public:
    void write(LogEntry const& entry) override {
        lines.push_back(format_logfmt(entry));
        if (auto const act = on.extract(entry.message); !act.empty()) act.mapped()();
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (auto const& line : lines) all += line + "\n";
        return all;
    }
    std::map<std::string, std::function<void()>> on;
    std::vector<std::string> lines;
};

class ServedRunTest : public testing::Test {
protected:
    void SetUp() override {
        auto const environment = protocol::encode_environment({"PATH=/usr/bin:/bin"});
        ASSERT_TRUE(environment.has_value());
        write_text(paths_.environment(), *environment);
        write_text(paths_.lock(), "");
    }
    void serve(std::optional<int> reopen_after = std::nullopt) {
        ServedRunOptions options;
        options.reopen_after = reopen_after;
        options.paths = paths_;
        options.osorad = controller_.osorad;
        run_.emplace(std::move(options), env_, log_);
        tasks_.spawn("run", run_->run());
        context_.run();
    }

    FakeController controller_;
    protocol::RunPaths const& paths_ = controller_.paths;
    FakeEnv env_;
    ActingSink sink_;
    Logger log_{sink_, env_};
    asio::io_context context_{1};
    std::optional<ServedRun> run_;
    TaskGroup tasks_{context_.get_executor(), [](std::string_view task, std::string_view what) {
                         ADD_FAILURE() << task << ": " << what;
                     }};
};

TEST_F(ServedRunTest, AControllerThatCannotBeSpawnedIsTriedAgain) {
    sink_.on["restarting controller"] = [this] {
        EXPECT_TRUE(std::filesystem::exists(paths_.environment()));
        controller_.act("exit 0\n");
    };
    serve();
    EXPECT_THAT(controller_.calls(), ElementsAre("--supervised"));
    EXPECT_THAT(sink_.text(), HasSubstr("cannot start controller: " + controller_.osorad.string()));
    EXPECT_EQ(run_->restarts(), 1);
    EXPECT_FALSE(std::filesystem::exists(paths_.environment())) << "the run is over";
}

TEST_F(ServedRunTest, AControllerThatIsNotThereYetIsNeitherReplacedNorForgotten) {
    controller_.act("exit 0\n");
    auto held = FileLock::acquire(paths_.lock());
    ASSERT_TRUE(held.has_value());
    std::optional<FileLock> lock(std::move(*held));
    sink_.on["waiting for the process that holds the run's lock"] = [&] {
        EXPECT_THAT(controller_.calls(), ElementsAre());
        EXPECT_TRUE(std::filesystem::exists(paths_.environment()));
        lock.reset();
    };
    serve();
    EXPECT_FALSE(lock.has_value()) << sink_.text();
    EXPECT_THAT(controller_.calls(), ElementsAre("--supervised"));
    EXPECT_EQ(run_->restarts(), 0);
}

TEST_F(ServedRunTest, AControllerThatDoesNotGetTheLockOrCannotLoadTheRunIsTriedAgain) {
    controller_.act("case $call in 1) exit 4;; 2) exit 1;; esac\nexit 0\n");
    serve();
    EXPECT_EQ(controller_.calls().size(), 3u) << sink_.text();
    EXPECT_THAT(sink_.text(), HasSubstr("another process held the run's lock"));
    EXPECT_THAT(sink_.text(), HasSubstr("exited with 1 before the run was over"));
}

TEST_F(ServedRunTest, ARunThatCanNeverStartIsForgottenWithTheReason) {
    controller_.act("exit 2\n");
    serve();
    EXPECT_EQ(controller_.calls().size(), 1u);
    EXPECT_THAT(sink_.text(), HasSubstr("the run cannot start: see its controller.log"));
}

TEST_F(ServedRunTest, ControllersReopenTheRunUntilItsJournalShowsThatOneDid) {
    controller_.die_before_and_after_the_run_is_reopened();
    serve(1);
    EXPECT_THAT(controller_.calls(),
                ElementsAre("--supervised --resume", "--supervised --resume", "--supervised"));
    EXPECT_EQ(run_->reopen_after(), std::nullopt);
}

TEST_F(ServedRunTest, TheOldEndOfARunThatIsToBeReopenedIsNotTheNewOne) {
    controller_.write_journal("journal", 1);
    controller_.act("case $call in 1) exit 1;; esac\nexit 0\n");
    serve(1);
    EXPECT_THAT(controller_.calls(), ElementsAre("--supervised --resume", "--supervised --resume"));
}

TEST_F(ServedRunTest, TheNextDaemonDoesNotReopenARunThatTheLastOneReopened) {
    controller_.write_journal("journal", 2);
    controller_.act("exit 1\n");
    serve(1);
    EXPECT_THAT(controller_.calls(), ElementsAre("--supervised"));
}

TEST(ServedList, HoldsWhatIsToBeReopenedAndReadsOlderFiles) {
    ServedList const list{{"/s/runs/a-0001", "/s/runs/b-0002"}, {{"/s/runs/b-0002", 3}}};
    auto const again = protocol::decode<ServedList>(protocol::encode(list));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->runs, list.runs);
    ASSERT_EQ(again->reopening.size(), 1u);
    EXPECT_EQ(again->reopening[0].run, "/s/runs/b-0002");
    EXPECT_EQ(again->reopening[0].incarnations, 3);
    auto const older = protocol::decode<ServedList>(R"({"runs": ["/s/runs/a-0001"]})");
    ASSERT_TRUE(older.has_value());
    EXPECT_EQ(older->runs.size(), 1u);
}

}  // namespace
}  // namespace osora::daemon
