// A run directory and a real osorad on it, with mock workers. Every process that a test starts is
// killed when the test ends, even when it fails: by death signals, and by a search for the run's
// variables in /proc.
#pragma once

#include "base/environment.hpp"
#include "base/process/process.hpp"
#include "protocol/controller_file.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/run_directory.hpp"
#include "tests/kit/patience.hpp"
#include "tests/kit/program.hpp"
#include "tests/kit/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::e2e {

struct RunSpec {
    std::string job = "train";
    std::vector<std::string> command = {};  // job = "exec"
    std::string step_pattern = "auto";
    int nodes = 1;
    int ranks = 2;  // of each node
    int steps = 20;
    int checkpoint_every = 5;
    int max_restarts = 3;
    double step_timeout_s = 0;
    double lost_after_s = tests::kPatience_s;  // silence of an agent
    double lease_s = tests::kPatience_s;       // without a controller; 0: the backend's
    int hold_at = -1;                          // mock ranks wait before this step for release()
    std::string bind_cpus = "auto";
    int log_mib = 1024;
    std::map<std::string, std::string> env = {};  // of the workers: OSORA_MOCK_*...
};

using tests::content_of;
using tests::eventually;
using tests::kPatience_s;

class Run : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    /// Writes job.json, plan.json and submission.json into a new folder `name` below folder().
    void make_run(RunSpec const& spec, std::string const& name = "run-0001");

    /// Starts `osorad --one-run`; with a lifeline when `attached`.
    void start(bool attached = false);
    /// Returns its exit code (128 + signal when it was killed); the test fails after `limit_s`.
    int wait_for_exit(double limit_s = kPatience_s);
    int run_to_end(RunSpec const& spec);
    void kill_controller();
    /// Ranks that hold at RunSpec::hold_at continue.
    void release() const { run().release(); }
    void cut_lifeline() { lifeline_.reset(); }
    void signal_controller(int signal) const { signal_process(controller_->id, signal); }

    [[nodiscard]] tests::RunFolder run() const { return tests::RunFolder(paths_.dir); }
    [[nodiscard]] std::vector<protocol::JournalRecord> journal() const { return run().journal(); }
    template <class T>
    [[nodiscard]] std::vector<T> events() const {
        return run().events<T>();
    }
    /// The newest event of type T; a default one, and a failed test, when there is none.
    template <class T>
    [[nodiscard]] T last() const {
        auto const found = events<T>();
        EXPECT_FALSE(found.empty()) << T::kType << ": none";
        return found.empty() ? T{} : found.back();
    }
    /// Waits for `count` events of type T and returns the last.
    template <class T>
    T await_event(std::size_t count = 1, double limit_s = kPatience_s) const {
        bool const came = eventually([&] { return events<T>().size() >= count; }, limit_s);
        EXPECT_TRUE(came) << T::kType << ": too few";
        auto const found = events<T>();
        return found.empty() ? T{} : found.back();
    }
    /// Waits until `steps` steps of rank 0's node are in the journal.
    void await_steps(int steps) const;

    /// Processes of the run, except the controller.
    [[nodiscard]] std::vector<ProcessId> processes() const { return run().processes(); }
    [[nodiscard]] bool all_gone(double limit_s = kPatience_s) const {
        return run().nothing_left(limit_s);
    }

    [[nodiscard]] protocol::ControlReply command(protocol::ToController const& message) const;
    [[nodiscard]] std::string log() const;     // controller.log
    [[nodiscard]] std::string errors() const;  // stderr of osorad
    /// Where agents connect, from the controller's log.
    [[nodiscard]] int agents_port() const;

    [[nodiscard]] std::filesystem::path folder() const { return folder_; }
    [[nodiscard]] protocol::RunPaths const& paths() const { return paths_; }
    /// The environment of osorad; add to it before start().
    Environment& environment() { return environment_; }
    std::vector<std::string>& arguments() { return arguments_; }
    /// controller.json; the test fails when it cannot be parsed.
    [[nodiscard]] protocol::ControllerFile controller_file() const;
    [[nodiscard]] std::optional<Child> const& controller() const { return controller_; }
    [[nodiscard]] Result<Child> spawn_osorad(int lifeline_fd, std::string const& stderr_name);

private:
    std::string folder_;
    std::string run_uuid_;
    protocol::RunPaths paths_;
    Environment environment_;
    std::vector<std::string> arguments_;  // after --one-run RUN_DIR
    std::optional<Child> controller_;
    Descriptor lifeline_;
};

}  // namespace osora::e2e
