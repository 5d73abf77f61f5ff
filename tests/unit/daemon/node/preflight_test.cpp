// Each finding is provoked in a temporary folder.
#include "daemon/node/preflight.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Preflight : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "preflight XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        options_.job.run_dir = (folder_ / "run").string();
        options_.job.base_dir = folder_.string();
        options_.job.config.data.manifest = "clips.csv";
        options_.worker_program = "/bin/true";
        options_.environment = {"PATH=/usr/bin:/bin"};
        RealEnv const clock;
        options_.wall_us = clock.wall_us();
        options_.free_bytes_min = 0;
        fs::create_directory(folder_ / "run");
        ASSERT_TRUE(write_file_atomic(folder_ / "clips.csv", "path\n").has_value());
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path folder_;
    PreflightOptions options_;
};

TEST_F(Preflight, NothingIsFoundAndNothingIsLeft) {
    EXPECT_THAT(preflight(options_), IsEmpty());
    EXPECT_TRUE(fs::is_empty(folder_ / "run" / "checkpoints"));
}

TEST_F(Preflight, EveryFindingAtOnce) {
    options_.job.config.data.manifest = "gone.csv";
    options_.worker_program = folder_ / "no-worker";
    options_.free_bytes_min = std::int64_t{1} << 62;
    options_.wall_us += 3'600'000'000;
    ASSERT_TRUE(write_file_atomic(folder_ / "run" / "checkpoints", "a file").has_value());
    EXPECT_THAT(preflight(options_), ElementsAre(HasSubstr("checkpoints"), HasSubstr("are free"),
                                                 HasSubstr("gone.csv"), HasSubstr("no-worker")));
    fs::remove(folder_ / "run" / "checkpoints");
    EXPECT_THAT(preflight(options_).back(), HasSubstr("the clock is 3600 s ahead of"));
    options_.wall_us = 1'000'000;
    EXPECT_EQ(preflight(options_).back(), "the clock is not set");
}

TEST_F(Preflight, ExecNeedsItsCommandAndNoManifest) {
    options_.job.config.run.job = "exec";
    options_.job.config.data.manifest = "gone.csv";
    options_.job.config.worker.command = {"no-such-program"};
    EXPECT_THAT(preflight(options_), ElementsAre(HasSubstr("'no-such-program' is not in PATH")));
    options_.job.config.worker.command = {"true"};
    EXPECT_THAT(preflight(options_), IsEmpty());
    EXPECT_THAT(preflight_fact(folder_ / "run", options_), HasSubstr("job.json"));
}

}  // namespace
}  // namespace osora::daemon
