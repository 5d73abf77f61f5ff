// How osora handles answers that Slurm gives on real clusters: a number among other words, a job
// that was accepted although sbatch failed, a queue that does not answer, a job that is held.
#include "tests/e2e_slurm/slurm_fixture.hpp"

#include "base/files/files.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Answers : public SlurmCli {
protected:
    void SetUp() override {
        SlurmCli::SetUp();
        write("run.toml",
              "[run]\nname = \"mine\"\njob = \"exec\"\n[resources]\nbackend = \"slurm\"\n"
              "nodes = 1\ngpus_per_node = 1\n[worker]\ncommand = [\"true\"]\n");
        std::filesystem::create_directory(folder_ / "bin");
        set_variable(environment_, "PATH", (folder_ / "bin").string() + ":/usr/bin:/bin");
        script("scancel", "");
        script("squeue", "");
    }
    /// Records its arguments, then continues as `text` says.
    void script(std::string const& name, std::string const& text) {
        auto const path = folder_ / "bin" / name;
        // The folder's name contains quotes.
        write("bin/" + name, "#!/bin/sh\necho \"$*\" >> \"$(dirname \"$0\")/../" + name +
                                 ".asked\"\n" + text + "\n");
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    [[nodiscard]] std::string asked(std::string const& name) const {
        return tests::content_of(folder_ / (name + ".asked"));
    }
    /// squeue's line for the run's job.
    static std::string line(char const* reason, std::string const& submitted) {
        return fmt::format("echo '80634|80634|N/A|PENDING|{}|N/A|N/A|10:00|1|{}||mine-0001'",
                           submitted, reason);
    }
    static std::string line(char const* reason) { return line(reason, "2020-01-01T20:00:00"); }
    [[nodiscard]] bool is_kept() const { return std::filesystem::exists(run_dir("mine-0001")); }
    /// Of run 1.
    void write_journal(std::vector<protocol::RunEvent> const& events) const {
        std::string journal(protocol::kJournalHeader);
        for (std::size_t i = 0; i < events.size(); ++i) {
            auto const record = protocol::encode_record({i, 1'790'000'000'000'000, events[i]});
            ASSERT_TRUE(record.has_value());
            journal += *record;
        }
        auto const path = run_dir("mine-0001") / "journal";
        ASSERT_TRUE(write_file_atomic(path, journal, 0600).has_value());
    }
    /// Run 1 has ended in its first job, which `user` or a signal of Slurm stopped, and a second
    /// job was submitted since.
    void end_first_job(bool user = false) const {
        protocol::ControllerStarted started;
        started.host = "n1";
        protocol::StopRequested stop;
        stop.by_user = user;
        protocol::RunEnded ended;
        ended.verdict = protocol::Verdict::cancelled;
        ended.exit_code = 130;
        ended.cause = "the job is preempted";
        std::vector<protocol::RunEvent> const events{protocol::RunSubmitted{}, started, stop,
                                                     ended};
        write_journal(events);
        auto const path = run_dir("mine-0001") / "journal";
        auto const submitted =
            std::filesystem::last_write_time(run_dir("mine-0001") / "slurm.json");
        std::filesystem::last_write_time(path, submitted - std::chrono::minutes(2));
    }
    /// What squeue says from now on.
    void queue_says(std::string const& state) {
        std::filesystem::remove(run_dir("mine-0001").parent_path().parent_path() / "queue");
        script("squeue", "echo '80634|80634|N/A|" + state +
                             "|2020-01-01T20:00:00|N/A|N/A|10:00|1|None|n1|mine-0001'");
    }
    [[nodiscard]] std::string recorded() const {
        return tests::content_of(run_dir("mine-0001") / "slurm.json");
    }
};

TEST_F(Answers, TheNumberComesAfterABanner) {
    script("sbatch",
           "echo; echo ' Welcome'; echo '--> Checking queue (h100)...OK'\n"
           "echo 'Submitted batch job 519605'");
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(recorded(), HasSubstr("519605"));
}

TEST_F(Answers, ARecordedClusterIsAskedAlwaysAndNoOther) {
    script("sbatch", "echo 'Submitted batch job 80634 on cluster slaking'");
    script("squeue", "echo 'CLUSTER: slaking'\n" + line("Priority"));
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    EXPECT_THAT(osora({"status"}).out, HasSubstr("run 1 waits as job 80634 (Priority)"));
    EXPECT_THAT(asked("squeue"), HasSubstr("--clusters=slaking"));
    EXPECT_EQ(osora({"cancel", "1"}).code, 0);
    EXPECT_THAT(asked("scancel"), HasSubstr("--clusters=slaking 80634"));
}

TEST_F(Answers, AJobThatWaitsIsOnTheClusterOfTheOneItWaitsFor) {
    script("sbatch", "echo '80634;slaking'");
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto const dry = osora({"submit", "run.toml", "--after", "1", "--dry-run"});
    EXPECT_THAT(dry.out, HasSubstr("--dependency=afterok:80634 --kill-on-invalid-dep=yes "
                                   "--clusters=slaking"));
    script("sbatch", "echo 80635");
    EXPECT_EQ(osora({"submit", "run.toml", "--after", "1", "--detach"}).code, 0);
    EXPECT_THAT(asked("sbatch"), HasSubstr("--clusters=slaking"));
    EXPECT_THAT(tests::content_of(run_dir("mine-0002") / "slurm.json"), HasSubstr("slaking"));
    auto const other = osora({"submit", "run.toml", "--after", "1", "--detach", "--set",
                              "slurm.extra=[\"--clusters=north\"]"});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("its job 80634 is on cluster slaking, and [slurm] extra asks "
                                     "for cluster north"));
}

TEST_F(Answers, TheClusterThatTheRunFileNamesIsLookedThrough) {
    write("run.toml",
          tests::content_of(folder_ / "run.toml") + "[slurm]\nextra = [\"--clusters=north\"]\n");
    script("sbatch", "echo thank you");
    script("squeue", "echo 'CLUSTER: north'\n" + line("Priority"));
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(asked("squeue"), HasSubstr("--clusters=north"));
    EXPECT_THAT(recorded(), HasSubstr("north"));
}

TEST_F(Answers, AJobThatSbatchDidNotConfirmIsNeverForgotten) {
    script("sbatch",
           "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv "
           "operation' >&2; exit 1");
    script("squeue", line("Priority"));
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 4) << done.out;
    EXPECT_THAT(done.err, HasSubstr("Socket timed out"));
    EXPECT_THAT(done.err, HasSubstr("in the queue under that name: job 80634"));
    EXPECT_TRUE(is_kept());
    EXPECT_EQ(asked("scancel"), "") << "it may be of another folder of runs";
}

TEST_F(Answers, AJobThatWasSubmittedJustNowIsFollowed) {
    script("sbatch", "echo 'sbatch: error: Zero Bytes were transmitted or received' >&2; exit 1");
    script("squeue", "now=$(TZ=UTC date +%Y-%m-%dT%H:%M:%S)\n" + line("Priority", "'\"$now\"'"));
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("job 80634 of that name is in the queue and is followed"));
    EXPECT_THAT(recorded(), HasSubstr("80634"));
}

TEST_F(Answers, AnAcceptedJobWithoutANumberIsFoundByItsName) {
    script("sbatch", "echo thank you");
    script("squeue", line("Priority"));
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(recorded(), HasSubstr("80634"));
}

TEST_F(Answers, AQueueThatDoesNotAnswerEitherKeepsTheRun) {
    script("sbatch", "echo thank you");
    script("squeue",
           "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 4) << done.out;
    EXPECT_THAT(done.err, HasSubstr("the run's folder is kept"));
    EXPECT_TRUE(is_kept());
}

TEST_F(Answers, ARefusalLeavesNothing) {
    script("sbatch",
           "echo \"sbatch: unrecognized option '--parsable'\" >&2\n"
           "echo 'Try \"sbatch --help\" for more information' >&2; exit 1");
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 4);
    EXPECT_THAT(done.err, HasSubstr("unrecognized option '--parsable'"));
    EXPECT_FALSE(is_kept());
}

TEST_F(Answers, SilenceWithAnErrorMessageIsNoEnd) {
    script("sbatch", "echo 80634");
    script("squeue", "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2");
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto const before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(run_dir("mine-0001") / "slurm.json", before);
    auto const status = osora({"status"});
    EXPECT_THAT(status.out, HasSubstr("job 80634 was submitted, and Slurm does not report"));
    EXPECT_THAT(status.out, Not(HasSubstr("over")));
    EXPECT_THAT(osora({"status", "1"}).out, HasSubstr("queued · 1 rank on 1 node\n"));
    auto const object = protocol::parse_json(osora({"status", "1", "--json"}).out);
    ASSERT_TRUE(object.has_value());
    auto const& run = object->at("runs").at(0);
    EXPECT_EQ(run.at("state"), "queued");
    EXPECT_EQ(run.at("nodes"), 1);
    EXPECT_GT(run.at("submitted_us").to_number<std::int64_t>(), 1'700'000'000'000'000);
    EXPECT_FALSE(run.at("uuid").as_string().empty());
    EXPECT_TRUE(run.at("ended_us").is_null());
    EXPECT_TRUE(run.at("rss_bytes").is_null());
    auto const resumed = osora({"resume", "1", "--detach"});
    EXPECT_EQ(resumed.code, 2) << "the first job may run; " << resumed.out;
    EXPECT_THAT(resumed.err, HasSubstr("run 1: job 80634 was submitted, and Slurm does not"));
}

TEST_F(Answers, AJobThatTheQueueDoesNotShowYetIsCancelledAnyway) {
    script("sbatch", "echo 80634");
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    // As if written later: the test may take any time.
    auto const soon = std::filesystem::file_time_type::clock::now() + std::chrono::seconds(50);
    std::filesystem::last_write_time(run_dir("mine-0001") / "slurm.json", soon);
    EXPECT_THAT(osora({"status"}).out, HasSubstr("Slurm does not report its state"));
    auto const done = osora({"cancel", "1"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("was taken out of the queue"));
    EXPECT_THAT(asked("scancel"), HasSubstr("80634"));
}

TEST_F(Answers, NodesAreExcludedUnderTheNamesOfSlurm) {
    write("run.toml", tests::content_of(folder_ / "run.toml") +
                          "[faults]\nexclude_nodes = [\"n2.cluster\", \"gone\"]\n");
    script("sinfo", "echo 'n[1-8]'");
    script("sbatch", "echo 80634");
    auto const done = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("note: faults.exclude_nodes: Slurm has no node gone, so "
                                    "--exclude is without it\n"));
    auto const job = tests::content_of(run_dir("mine-0001") / "job.sh");
    EXPECT_THAT(job, HasSubstr("#SBATCH --exclude=n2\n"));
    // The nodes of another cluster are another matter.
    write("run.toml",
          tests::content_of(folder_ / "run.toml") + "[slurm]\nextra = [\"--clusters=north\"]\n");
    (void)osora({"submit", "run.toml", "--dry-run"});
    EXPECT_THAT(asked("sinfo"), HasSubstr("--clusters=north"));
}

TEST_F(Answers, ARunBetweenTwoJobsIsNotOver) {
    script("sbatch", "echo 80634");
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    end_first_job();
    queue_says("PENDING");
    EXPECT_THAT(osora({"status"}).out, HasSubstr("run 1 waits as job 80634"));
    auto const waiting = osora({"status", "1"});
    EXPECT_THAT(waiting.out, HasSubstr("run mine-0001 · queued"));
    EXPECT_THAT(waiting.out, HasSubstr("run 1 waits as job 80634"));
    auto watching = start({"watch", "1"});
    EXPECT_TRUE(watching.says("slurm    job 80634 follows")) << watching.out();
    watching.signal(SIGINT);
    EXPECT_EQ(watching.wait().code, 130);

    auto const relaunched = osora({"relaunch", "1"});
    EXPECT_EQ(relaunched.code, 2);
    EXPECT_THAT(relaunched.err, HasSubstr("run 1 waits in the queue as job 80634"));
    EXPECT_THAT(osora({"submit", "run.toml", "--after", "1", "--dry-run"}).out,
                HasSubstr("--dependency=afterok:80634"));

    queue_says("RUNNING");
    std::string const starting = "run 1 goes on in job 80634, which runs and has no controller yet";
    EXPECT_THAT(osora({"status"}).out, HasSubstr(starting));
    auto const resumed = osora({"resume", "1", "--detach"});
    EXPECT_EQ(resumed.code, 2) << "two controllers; " << resumed.out;
    EXPECT_THAT(resumed.err, HasSubstr(starting));
    auto const cancelled = osora({"cancel", "1"});
    EXPECT_EQ(cancelled.code, 4) << "it would run on; " << cancelled.out;
    EXPECT_THAT(cancelled.err, HasSubstr(starting));
    EXPECT_THAT(osora({"relaunch", "1"}).err, HasSubstr(starting));
    auto following = start({"logs", "1", "--follow"});
    auto const log = run_dir("mine-0001") / "logs" / "0" / "0.log";
    std::filesystem::create_directories(log.parent_path());
    std::ofstream(log) << "of the next job\n";
    EXPECT_TRUE(following.says("of the next job")) << following.out();
    following.signal(SIGINT);
    (void)following.wait();

    // A controller of that job has ended the run since, and the queue is behind.
    auto const now = std::filesystem::file_time_type::clock::now() + std::chrono::minutes(1);
    std::filesystem::last_write_time(run_dir("mine-0001") / "journal", now);
    EXPECT_THAT(osora({"cancel", "1"}).out, HasSubstr("run 1 is over already"));
    EXPECT_EQ(osora({"resume", "1", "--detach"}).code, 0);
}

// The next job enters it; without it, it would run with Slurm's few variables.
TEST_F(Answers, TheEnvironmentOfARunThatGoesOnIsKept) {
    script("sbatch", "echo 80634");
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto const environment = run_dir("mine-0001") / "environment";
    queue_says("PENDING");
    end_first_job(/*user=*/true);  // and resumed
    EXPECT_EQ(osora({"status", "1"}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(environment));
    // The job of a run that Slurm stopped has not submitted the next one yet.
    end_first_job();
    auto const now = std::filesystem::file_time_type::clock::now() + std::chrono::minutes(1);
    std::filesystem::last_write_time(run_dir("mine-0001") / "journal", now);
    EXPECT_EQ(osora({"status", "1"}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(environment));
    // A user has stopped it for good.
    end_first_job(/*user=*/true);
    std::filesystem::last_write_time(run_dir("mine-0001") / "journal", now);
    EXPECT_EQ(osora({"status", "1"}).code, 0);
    EXPECT_FALSE(std::filesystem::exists(environment));
}

TEST_F(Answers, LogsOfARunOnOtherMachinesAreFollowed) {
    script("sbatch", "echo 80634");
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    protocol::ControllerStarted started;
    started.host = "elsewhere";
    write_journal({protocol::RunSubmitted{}, started});
    queue_says("RUNNING");
    auto const log = run_dir("mine-0001") / "logs" / "0" / "0.log";
    std::filesystem::create_directories(log.parent_path());
    std::ofstream(log) << "first line\n";
    auto following = start({"logs", "1", "--follow"});
    EXPECT_TRUE(following.says("first line")) << following.out();
    // Only Slurm knows whether its controller lives.
    EXPECT_TRUE(eventually([&] { return !asked("squeue").empty(); }));
    std::ofstream(log, std::ios::app) << "second line\n";
    EXPECT_TRUE(following.says("second line")) << following.out();
    following.signal(SIGINT);
    (void)following.wait();
}

TEST_F(Answers, AHeldJobIsReportedAsHeld) {
    script("sbatch", "echo 80634");
    script("squeue", line("launch failed requeued held"));
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    EXPECT_THAT(osora({"status"}).out,
                HasSubstr("held: launch failed requeued held; it does not start by itself: "
                          "scontrol release 80634"));
}

}  // namespace
}  // namespace osora::e2e_cli
