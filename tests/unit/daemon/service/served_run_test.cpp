// A run of the daemon with a script as controller. No test waits for a controller that does not
// end.
#include "daemon/service/served_run.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "base/log/log_sinks.hpp"
#include "protocol/environment_file.hpp"
#include "tests/kit/temp_folder.hpp"

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
        std::filesystem::create_directories(paths_.dir);
        auto const environment = protocol::encode_environment({"PATH=/usr/bin:/bin"});
        ASSERT_TRUE(environment.has_value());
        write(paths_.environment(), *environment);
        write(paths_.lock(), "");
    }
    static void write(std::filesystem::path const& path, std::string_view text, int mode = 0600) {
        ASSERT_TRUE(write_file_atomic(path, text, mode).has_value());
    }
    /// A controller that notes its options in RUN_DIR/calls, then does `then`; $call counts.
    void make_osorad(std::string const& then) const {
        write(osorad_,
              "#!/bin/sh\ncd \"$2\"\nshift 2\necho \"$@\" >> calls\n"
              "call=0\nwhile read -r line; do call=$((call + 1)); done < calls\n" +
                  then,
              0700);
    }
    [[nodiscard]] std::vector<std::string> calls() const {
        std::vector<std::string> lines;
        auto const text = read_file(paths_.dir / "calls");
        if (text.has_error()) return lines;
        for (std::size_t at = 0; at < text->size(); at = text->find('\n', at) + 1) {
            lines.push_back(text->substr(at, text->find('\n', at) - at));
        }
        return lines;
    }
    void serve(ServedRunOptions options = {}) {
        options.paths = paths_;
        options.osorad = osorad_;
        run_.emplace(std::move(options), env_, log_);
        tasks_.spawn("run", run_->run());
        context_.run();
    }

    tests::TempFolder folder_;
    protocol::RunPaths paths_{folder_.path() / "runs/demo-0001"};
    std::filesystem::path osorad_ = folder_.path() / "osorad";
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
        make_osorad("exit 0\n");
    };
    serve();
    EXPECT_THAT(calls(), ElementsAre("--supervised"));
    EXPECT_THAT(sink_.text(), HasSubstr("cannot start controller: " + osorad_.string()));
    EXPECT_EQ(run_->restarts(), 1);
    EXPECT_FALSE(std::filesystem::exists(paths_.environment())) << "the run is over";
}

TEST_F(ServedRunTest, AControllerThatIsNotThereYetIsNeitherReplacedNorForgotten) {
    make_osorad("exit 0\n");
    auto held = FileLock::acquire(paths_.lock());
    ASSERT_TRUE(held.has_value());
    std::optional<FileLock> lock(std::move(*held));
    sink_.on["waiting for the process that holds the run's lock"] = [&] {
        EXPECT_THAT(calls(), ElementsAre());
        EXPECT_TRUE(std::filesystem::exists(paths_.environment()));
        lock.reset();
    };
    serve();
    EXPECT_FALSE(lock.has_value()) << sink_.text();
    EXPECT_THAT(calls(), ElementsAre("--supervised"));
    EXPECT_EQ(run_->restarts(), 0);
}

TEST_F(ServedRunTest, AControllerThatDoesNotGetTheLockOrCannotLoadTheRunIsTriedAgain) {
    make_osorad("case $call in 1) exit 4;; 2) exit 1;; esac\nexit 0\n");
    serve();
    EXPECT_EQ(calls().size(), 3u) << sink_.text();
    EXPECT_THAT(sink_.text(), HasSubstr("another process held the run's lock"));
    EXPECT_THAT(sink_.text(), HasSubstr("exited with 1 before the run was over"));
}

TEST_F(ServedRunTest, ARunThatCanNeverStartIsForgottenWithTheReason) {
    make_osorad("exit 2\n");
    serve();
    EXPECT_EQ(calls().size(), 1u);
    EXPECT_THAT(sink_.text(), HasSubstr("the run cannot start: see its controller.log"));
}

}  // namespace
}  // namespace osora::daemon
