// Compares the whole text: it is what a user reads in --dry-run and what sbatch gets.
#include "slurm/job_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::HasSubstr;
using testing::Not;

JobRequest request() {
    JobRequest request;
    request.name = "stage1-0042";
    request.run_dir = "/shared/osora/runs/stage1-0042";
    request.osorad = "/opt/osora/bin/osorad";
    request.resources.nodes = 16;
    request.resources.gpus_per_node = 8;
    return request;
}

std::string script(JobRequest const& request) {
    auto const text = job_script(request);
    EXPECT_TRUE(text.has_value()) << text.error().message;
    return text.has_value() ? *text : "";
}

TEST(JobScript, WholeNodesWithEverythingSaid) {
    JobRequest asked = request();
    asked.resources.spares = 2;
    asked.resources.time_limit = "24:00:00";
    asked.slurm.partition = "gpu";
    asked.slurm.account = "proj";
    asked.slurm.qos = "high";
    asked.slurm.constraint = "h100&ib";
    asked.slurm.reservation = "week";
    asked.slurm.extra = {"--comment=two words", "--mail-type", "END"};
    asked.slurm.prolog = {{"ulimit", "-l", "unlimited"}};
    asked.exclude_nodes = {"n11", "n12"};
    EXPECT_EQ(script(asked),
              "#!/bin/bash\n"
              "#SBATCH --job-name=stage1-0042\n"
              "#SBATCH --nodes=18\n"
              "#SBATCH --ntasks-per-node=1\n"
              "#SBATCH --gpus-per-node=8\n"
              "#SBATCH --gpu-bind=none\n"
              "#SBATCH --exclusive\n"
              "#SBATCH --mem=0\n"
              "#SBATCH --time=24:00:00\n"
              "#SBATCH --signal=B:USR2@600\n"
              "#SBATCH --no-requeue\n"
              "#SBATCH --no-kill\n"
              "#SBATCH --open-mode=append\n"
              "#SBATCH --output=/shared/osora/runs/stage1-0042/job-%j.log\n"
              "#SBATCH --export=ALL\n"
              "#SBATCH --partition=gpu\n"
              "#SBATCH --account=proj\n"
              "#SBATCH --qos=high\n"
              "#SBATCH \"--constraint=h100&ib\"\n"
              "#SBATCH --reservation=week\n"
              "#SBATCH --exclude=n11,n12\n"
              "#SBATCH \"--comment=two words\" --mail-type END\n"
              "\n"
              "# First without an environment, then again inside the submitter's.\n"
              "[ \"${1-}\" = entered ] || exec /opt/osora/bin/osorad enter "
              "/shared/osora/runs/stage1-0042 \"$0\" entered\n"
              "ulimit -l unlimited || { echo 'osora: [slurm] prolog failed: ulimit -l unlimited' "
              ">&2; exit 1; }\n"
              "exec /opt/osora/bin/osorad batch /shared/osora/runs/stage1-0042\n");
}

TEST(JobScript, CoresAndGpusAsTheRunFileSays) {
    JobRequest asked = request();
    asked.resources.cpus_per_worker = 4;
    asked.slurm.gpus = "none";
    EXPECT_THAT(script(asked), HasSubstr("#SBATCH --cpus-per-task=32\n"));
    EXPECT_THAT(script(asked), Not(HasSubstr("--exclusive")));
    EXPECT_THAT(script(asked), Not(HasSubstr("gpu")));
    asked = request();
    asked.slurm.gpus = "h100:8";
    asked.slurm.extra = {"--cpus-per-gpu=12"};
    EXPECT_THAT(script(asked), HasSubstr("#SBATCH --gpus-per-node=h100:8\n"));
    EXPECT_THAT(script(asked), Not(HasSubstr("--exclusive")));
    asked.slurm.extra = {"--mem=100G"};
    EXPECT_THAT(script(asked), HasSubstr("#SBATCH --exclusive\n"));
    EXPECT_THAT(script(asked), Not(HasSubstr("--mem=0")));
}

TEST(JobScript, OddPathsAreQuotedForWhoeverReadsThem) {
    JobRequest asked = request();
    asked.run_dir = "/shared/it's \"100%\"/stage1-0042";
    std::string const text = script(asked);
    EXPECT_THAT(text, HasSubstr("#SBATCH \"--output=/shared/it's \\\"100%%\\\"/stage1-0042/"
                                "job-%j.log\"\n"));
    EXPECT_THAT(text, HasSubstr("batch '/shared/it'\\''s \"100%\"/stage1-0042'\n"));
    asked.slurm.account = "a\n#SBATCH --uid=0";
    EXPECT_TRUE(job_script(asked).has_error());
}

TEST(JobScript, ModulesBringTheirShellFunction) {
    JobRequest asked = request();
    asked.slurm.prolog = {{"module", "load", "cuda/13", "x y"}};
    EXPECT_THAT(script(asked), HasSubstr("    . /etc/profile\n"));
    EXPECT_THAT(script(asked), HasSubstr("\nmodule load cuda/13 'x y' || { echo "));
    EXPECT_THAT(script(request()), Not(HasSubstr("/etc/profile")));
}

TEST(JobScript, WarningAndGpuHours) {
    EXPECT_EQ(warning_s(""), 300);
    EXPECT_EQ(warning_s("00:05:00"), 60);
    EXPECT_EQ(warning_s("01:00:00"), 360);
    EXPECT_EQ(warning_s("7-00:00:00"), 600);
    plan::ResourcesSection resources;
    resources.nodes = 16;
    resources.gpus_per_node = 8;
    EXPECT_EQ(gpu_hours(resources), 0);
    resources.time_limit = "1-00:00:00";
    EXPECT_DOUBLE_EQ(gpu_hours(resources), 3072);
}

}  // namespace
}  // namespace osora::slurm
