// The local backend with scripts as agents: ending the processes of one node must spare the agents
// of the others.
#include "daemon/backends/local.hpp"

#include "base/files/files.hpp"
#include "base/log/log_sinks.hpp"
#include "tests/kit/temp_folder.hpp"

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::daemon {
namespace {

namespace asio = boost::asio;

/// The agents that the backend has started.
class StartSink final : public LogSink {
public:
    void write(LogEntry const& entry) override {
        if (entry.message == "agent started") pids.push_back(std::stoi(entry.fields[1].value));
    }
    std::vector<int> pids;
};

class LocalBackendTest : public testing::Test {
protected:
    void SetUp() override {
        auto const osorad = folder_.path() / "osorad";
        ASSERT_TRUE(
            write_file_atomic(osorad, "#!/bin/sh\nexec /bin/sleep 600\n", 0700).has_value());
        options_.osorad = osorad;
        options_.start.run_uuid = make_uuid();
        options_.start.run_dir = folder_.path().string();
        options_.stop_limit_s = 60;
    }
    LocalBackend& make_backend() {
        auto on_exited = [this](AgentExited exited) {
            exited_.push_back(exited);
            if (exited.node == 1) context_.stop();
        };
        return backend_.emplace(options_, tasks_, log_, on_exited);
    }

    tests::TempFolder folder_;
    LocalOptions options_;
    RealEnv env_;
    StartSink sink_;
    Logger log_{sink_, env_};
    asio::io_context context_{1};
    TaskGroup tasks_{context_.get_executor(), [](std::string_view task, std::string_view what) {
                         ADD_FAILURE() << task << ": " << what;
                     }};
    std::vector<AgentExited> exited_;
    std::optional<LocalBackend> backend_;
};

TEST_F(LocalBackendTest, AnAgentThatStartsWhileAnotherNodeIsClearedSurvives) {
    // A process that the first pass kills, so that there is a second one.
    auto const orphan = spawn({.program = "/bin/sleep", .arguments = {"600"}});
    ASSERT_TRUE(orphan.has_value());
    bool asked = false;
    options_.spared = [&] {
        // Runs when the first pass has ended.
        if (!std::exchange(asked, true)) {
            asio::post(context_, [this] { backend_->start_agent({0, 2}); });
        }
        return std::vector<int>();
    };
    LocalBackend& backend = make_backend();
    backend.start_agent({1, 1});
    backend.stop_agent({1, 1, "", 0, 0});
    context_.run();
    ASSERT_EQ(sink_.pids.size(), 2u);
    ASSERT_EQ(exited_.size(), 1u);
    EXPECT_EQ(exited_[0].node, 1);
    EXPECT_EQ(exited_[0].processes_left, 0);
    auto const agent = process_id_of(sink_.pids[1]);
    ASSERT_TRUE(agent.has_value()) << "the agent of node 0 was killed";
    signal_process(*agent, SIGKILL);
}

}  // namespace
}  // namespace osora::daemon
