#include "cli/run/submission.hpp"

#include "base/files/files.hpp"
#include "base/secrets.hpp"
#include "db/record/facts.hpp"
#include "plan/worker_job.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

Submission example() {
    Submission submission;
    submission.resolved = plan::resolve_config(
        {{plan::Layer::run, "run.toml",
          "[run]\nname = \"demo\"\n[data]\nmanifest = \"c.csv\"\n[[bucket]]\nresolution = 64\n"}},
        {"train.steps=50", "worker.env.A=line1\nline2"});
    submission.base_dir = "/data/my runs";
    submission.resolved.run_file_text = "[run]\n";
    submission.facts = {{"OMP_NUM_THREADS", "1"}};
    return submission;
}

class SubmissionTest : public testing::Test {
protected:
    SubmissionTest()
        : state_(fs::path(testing::TempDir()) / fmt::format("submission {}", ::getpid())) {}
    ~SubmissionTest() override { fs::remove_all(state_); }
    fs::path state_;
};

TEST_F(SubmissionTest, FilesAreWholeAndAgree) {
    auto const run = create_run(state_, example());
    ASSERT_TRUE(run.has_value()) << run.error().message;
    auto const submitted = plan::read_submitted_run(run->paths);
    ASSERT_TRUE(submitted.has_value()) << submitted.error().message;
    auto const& record = submitted->record;
    EXPECT_EQ(record.run_name, "demo-0001");
    EXPECT_EQ(record.number, 1);
    EXPECT_EQ(record.steps, 50);
    EXPECT_EQ(record.base_dir, "/data/my runs");
    EXPECT_EQ(record.facts.at("OMP_NUM_THREADS"), "1");
    auto const job = protocol::decode<plan::WorkerJob>(*read_file(run->paths.job()));
    ASSERT_TRUE(job.has_value()) << job.error().message;
    EXPECT_EQ(job->run_uuid, record.run_uuid);
    EXPECT_EQ(job->run_dir, run->paths.dir.string());
    EXPECT_EQ(job->config.worker.env.at("A"), "line1\nline2");
    EXPECT_EQ(*read_file(run->paths.run_file()), "[run]\n");
    EXPECT_TRUE(fs::exists(run->paths.plan()));
    EXPECT_THAT(sets_of(*submitted),
                testing::UnorderedElementsAre("train.steps=50", "worker.env.A=\"line1\\nline2\""));
}

TEST_F(SubmissionTest, TheRecordHasWhatStagesChange) {
    auto submission = example();
    EXPECT_FALSE(submitted_event(submission, {}, "u").config.as_object().contains("stage"));
    submission.resolved = plan::resolve_config(
        {{plan::Layer::run, "run.toml",
          "[run]\nname = \"demo\"\n[data]\nmanifest = \"c.csv\"\n[[bucket]]\nresolution = 64\n"
          "[[stage]]\nat_step = 20\n[stage.data]\nmanifest = \"hq.csv\"\n"
          "[[stage]]\nat_step = 30\n[stage.batch]\nglobal_batch_size = 32\n"}},
        {});
    ASSERT_EQ(submission.resolved.stages.size(), 2u);
    auto const event = submitted_event(submission, {}, "u");
    EXPECT_EQ(event.config.at("data").at("manifest"), "c.csv");
    auto const& stages = event.config.at("stage").as_array();
    ASSERT_EQ(stages.size(), 2u);
    EXPECT_EQ(stages[0].at("at_step"), 20);
    EXPECT_EQ(stages[0].at("data.manifest"), "hq.csv");
    EXPECT_EQ(stages[1].at("at_step"), 30);
    EXPECT_EQ(stages[1].at("batch.global_batch_size"), "32");
    EXPECT_FALSE(stages[1].as_object().contains("data.manifest")) << "as in the stage before";
    auto record = event;
    record.nodes = record.ranks_per_node = 1;
    auto const read = plan::submitted_run(record);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->config.data.manifest, "c.csv");
}

// Of two buckets the stage keeps one: nothing of the second may look as if it went on.
TEST_F(SubmissionTest, TheRecordHasWhatStagesLeaveOut) {
    auto submission = example();
    submission.resolved = plan::resolve_config(
        {{plan::Layer::run, "run.toml",
          "[run]\nname = \"demo\"\n[data]\nmanifest = \"c.csv\"\n"
          "[[bucket]]\nresolution = \"64\"\nnum_frames = 8\n"
          "[[bucket]]\nresolution = \"128\"\nnum_frames = 1\n"
          "[[stage]]\nat_step = 20\n[[stage.bucket]]\nresolution = \"64\"\nnum_frames = 8\n"}},
        {});
    ASSERT_EQ(submission.resolved.stages.size(), 1u);
    auto const event = submitted_event(submission, {}, "u");
    auto const& stage = event.config.at("stage").at(0).as_object();
    ASSERT_TRUE(stage.contains("bucket[1].resolution")) << protocol::encode(event);
    EXPECT_TRUE(stage.at("bucket[1].resolution").is_null());
    EXPECT_TRUE(stage.at("bucket[1].num_frames").is_null());
    EXPECT_FALSE(stage.contains("bucket[0].resolution")) << "as before";
    EXPECT_EQ(db::flatten(event.config).at("stage[0].bucket[1].resolution"), "null");
}

// An empty table is one fact, which is gone when the table has columns.
TEST_F(SubmissionTest, TheRecordHasNoChangesThatAStageDoesNotMake) {
    auto submission = example();
    submission.resolved = plan::resolve_config(
        {{plan::Layer::run, "run.toml",
          "[run]\nname = \"demo\"\n[data]\nmanifest = \"c.csv\"\n[[bucket]]\nresolution = 64\n"
          "[[stage]]\nat_step = 20\n[stage.data]\ncolumns = { text = \"caption\" }\n"}},
        {"ssh.hosts=[\"n1\", \"n2\"]"});
    ASSERT_EQ(submission.resolved.stages.size(), 1u);
    submission.resolved.config.ssh.hosts = {"n2", "n1"};  // n1 failed lately
    auto const event = submitted_event(submission, {}, "u");
    auto const& stage = event.config.at("stage").at(0).as_object();
    EXPECT_EQ(stage.at("data.columns.text"), "caption");
    EXPECT_EQ(stage.size(), 2u) << protocol::encode(event);
}

TEST_F(SubmissionTest, OnlyWorkersGetSecrets) {
    auto submission = example();
    submission.secret_key = "key";
    auto& worker = submission.resolved.config.worker;
    worker.env = {{"HF_TOKEN", "sekrit"}, {"NCCL_IB_TC", "106"}, {"PROXY", "http://a:sekrit@b"}};
    worker.command = {"train", "--key=sekrit", "hf_abcdefGHIJKL0123"};
    submission.facts["TORCH_KEY"] = "sekrit";
    submission.facts["worker.sha256"] = std::string(64, 'a');
    auto const event =
        submitted_event(submission, {.number = 1, .name = "demo-0001", .paths = {}}, "u");
    auto const kept = protocol::encode(event);
    EXPECT_THAT(kept, testing::Not(testing::HasSubstr("sekrit")));
    EXPECT_THAT(kept, testing::Not(testing::HasSubstr("hf_abcdef")));
    EXPECT_THAT(kept, testing::HasSubstr(secret_digest("key", "sekrit")));
    EXPECT_THAT(kept, testing::HasSubstr("\"NCCL_IB_TC\":\"106\""));
    EXPECT_EQ(event.facts.at("worker.sha256"), std::string(64, 'a'));
    auto const run = create_run(state_, submission);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    auto const job = protocol::decode<plan::WorkerJob>(*read_file(run->paths.job()));
    EXPECT_EQ(job->config.worker.env, worker.env);
    EXPECT_EQ(job->config.worker.command, worker.command);
}

/// Writes beyond a few bytes fail as on a full disk (EFBIG), until it goes.
class FullDisk {
public:
    FullDisk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const tiny{16, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &tiny);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(FullDisk const&) = delete;
    FullDisk& operator=(FullDisk const&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int);
};

TEST_F(SubmissionTest, NothingIsLeftOnAFullDisk) {
    {
        FullDisk const full;
        auto const run = create_run(state_, example());
        ASSERT_TRUE(run.has_error());
        EXPECT_EQ(run.error().code, Errc::out_of_space);
    }
    for (auto const& each : fs::directory_iterator(state_ / "runs")) {
        EXPECT_EQ(each.path().filename(), ".lock");
    }
    EXPECT_EQ(create_run(state_, example())->number, 1);
}

}  // namespace
}  // namespace osora::cli
