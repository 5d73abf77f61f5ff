// The job that follows another one, with scripts for Slurm's commands.
#include "daemon/backends/slurm/next_job.hpp"

#include "plan/config/run_config.hpp"
#include "protocol/json.hpp"
#include "tests/unit/daemon/service/fake_controller.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

namespace osora::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

class FollowingJob : public testing::Test {
protected:
    FollowingJob() {
        controller_.write_journal("journal", 1);
        std::filesystem::create_directory(bin_);
        command("sbatch", "echo \"$*\" > \"$(dirname \"$0\")/asked\"\necho 13\n");
    }
    void command(std::string const& name, std::string const& text) const {
        write_text(bin_ / name, "#!/bin/sh\n" + text, 0700);
    }
    void exclude(std::vector<std::string> nodes) const {
        plan::RunConfig config;
        config.resources.nodes = 2;
        config.faults.exclude_nodes = std::move(nodes);
        protocol::RunSubmitted submission;
        submission.run_uuid = "0f0f";
        submission.config = protocol::to_json(config);
        write_text(controller_.paths.submission(), protocol::encode(submission));
    }
    /// What sbatch is called with after the time of job 12 is over.
    [[nodiscard]] std::string asked() const {
        Environment const environment{"PATH=" + bin_.string() + ":/usr/bin:/bin", "SLURM_JOB_ID=12",
                                      "SLURM_JOB_NODELIST=n[1-2]"};
        NextJob const next{controller_.paths, environment, slurm::JobWarning::time_limit, 1};
        auto const done = escalate(next, FakeEnv());
        EXPECT_TRUE(done.has_value()) << done.error().message;
        if (done.has_value()) {
            EXPECT_THAT(*done, HasSubstr("job 13 follows"));
        }
        auto const text = read_file(bin_ / "asked");
        return text.has_value() ? *text : "";
    }

    FakeController controller_;
    std::filesystem::path bin_ = controller_.folder.path() / "bin";
};

TEST_F(FollowingJob, ExcludesNodesUnderTheNamesOfSlurm) {
    exclude({"n2.cluster", "gone"});
    command("sinfo", "echo 'n[1-8]'\n");
    EXPECT_THAT(asked(), HasSubstr(" --exclude=n2 "));
}

TEST_F(FollowingJob, ExcludesNoneThatSlurmDoesNotKnow) {
    exclude({"gone"});
    command("sinfo", "echo 'n[1-8]'\n");
    EXPECT_THAT(asked(), Not(HasSubstr("--exclude")));
}

TEST_F(FollowingJob, ExcludesNamesAsWrittenWhenSlurmDoesNotSayItsNodes) {
    exclude({"n2"});
    command("sinfo",
            "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2\nexit 1\n");
    EXPECT_THAT(asked(), HasSubstr(" --exclude=n2 "));
}

}  // namespace
}  // namespace osora::daemon
