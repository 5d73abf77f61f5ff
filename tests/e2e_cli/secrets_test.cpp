// Where a run's secrets are stored, and what another user of the machine can read, change and
// start.
#include "base/files/files.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace osora::e2e_cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int kNobody = 65534;

int mode_of(fs::path const& path) {
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
    return static_cast<int>(facts.st_mode & 0777);
}

class Secrets : public Cli {
protected:
    void SetUp() override {
        before_ = ::umask(0002);
        Cli::SetUp();
    }
    void TearDown() override {
        (void)osora({"daemon", "stop"});
        Cli::TearDown();
        ::umask(before_);
    }

    /// A user program that prints its secret, and fails.
    void write_failing_run(std::string const& secret) {
        write(
            "fails.toml",
            fmt::format("[run]\nname = \"fails\"\njob = \"exec\"\n[resources]\ngpus_per_node = 1\n"
                        "[worker]\ncommand = [\"sh\", \"-c\", \"echo Error: $WANDB_API_KEY at "
                        "https://me:pass@host hf_abcdefGHIJKL0123; exit 3\"]\n"
                        "step_pattern = \"none\"\nenv = {{ WANDB_API_KEY = \"{}\" }}\n"
                        "[faults]\nmax_restarts = 0\n",
                        secret));
        fs::permissions(folder_ / "fails.toml", fs::perms::owner_read | fs::perms::owner_write);
    }
    /// `sh -c script` as another user in the group of folder_.
    Ended as_nobody(std::string const& script) {
        auto program = tests::start_program(
            {.program = "/usr/bin/setpriv",
             .arguments = {fmt::format("--reuid={}", kNobody), fmt::format("--regid={}", kNobody),
                           "--clear-groups", "sh", "-c", script},
             .environment = environment_,
             .working_directory = "/"},
            folder_ / fmt::format("nobody-{}", asked_++));
        EXPECT_TRUE(program.has_value()) << program.error().message;
        return program->wait(10 * tests::kPatience_s);
    }
    fs::path state() const { return folder_ / "state"; }

private:
    mode_t before_ = 0;
    int asked_ = 0;
};

TEST_F(Secrets, OnlyJobAndRunFileHoldThem) {
    write_failing_run("sekrit-1");
    ASSERT_EQ(osora({"submit", "fails.toml"}).code, 1);
    auto const with_set =
        osora({"submit", "fails.toml", "--set", "worker.env.WANDB_API_KEY=\"sekrit-2\"", "--set",
               "worker.env.PROXY=\"http://me:sekrit@proxy\""});
    ASSERT_EQ(with_set.code, 1);
    for (auto const* name : {"fails-0001", "fails-0002"}) {
        for (auto const& file : fs::recursive_directory_iterator(run_dir(name))) {
            auto const base = file.path().filename().string();
            bool const may = base == "job.json" || base == "run.toml" || base == "0.log";
            if (!file.is_regular_file() || may) continue;
            EXPECT_THAT(content_of(file.path()), Not(HasSubstr("sekrit"))) << file.path();
        }
    }
    EXPECT_THAT(content_of(run_dir("fails-0001") / "job.json"), HasSubstr("sekrit-1"));
    EXPECT_THAT(content_of(run_dir("fails-0001") / "submission.json"), HasSubstr("sha256:"));
    EXPECT_THAT(content_of(run_dir("fails-0001") / "journal"), HasSubstr("[redacted]"));
    for (auto const& command : std::vector<std::vector<std::string>>{
             {"diff", "1", "2"},
             {"report", "1"},
             {"report", "1", "--format", "html"},
             {"status", "1"},
             {"history", "sql", "select * from v_item"},
             {"config", "show", "fails.toml"},
             {"history", "export", "1", "2", "--to", "case.osora"},
             {"init", "--from", "1"}}) {
        auto const said = osora(command);
        EXPECT_THAT(said.out + said.err, Not(HasSubstr("sekrit"))) << command[0];
        EXPECT_THAT(said.out + said.err, Not(HasSubstr("me:pass"))) << command[0];
        EXPECT_THAT(said.out + said.err, Not(HasSubstr("hf_abcdef"))) << command[0];
    }
    EXPECT_THAT(osora({"diff", "1", "2"}).out, HasSubstr("worker.env.WANDB_API_KEY"))
        << "still compared";
    for (auto const* file : {"case.osora", "state/history.db"}) {
        auto const bytes = read_file(folder_ / file);
        ASSERT_TRUE(bytes.has_value()) << file;
        for (auto const* secret : {"sekrit", "me:pass", "hf_abcdef"}) {
            EXPECT_EQ(bytes->find(secret), std::string::npos) << file << " " << secret;
        }
        EXPECT_EQ(mode_of(folder_ / file), 0600) << file;
    }
}

TEST_F(Secrets, ARunIsResumedAndSubmittedAgainWithThem) {
    write_failing_run("sekrit-1");
    ASSERT_EQ(osora({"submit", "fails.toml", "--set", "worker.env.MY_TOKEN=\"sekrit-9\""}).code, 1);
    EXPECT_EQ(osora({"resume", "1"}).code, 1);
    EXPECT_THAT(content_of(run_dir("fails-0001") / "logs" / "1" / "0.log"), HasSubstr("sekrit-1"));
    auto const again = osora({"submit", "--from", "1"});
    EXPECT_EQ(again.code, 1);
    EXPECT_THAT(again.err, HasSubstr("--set worker.env.MY_TOKEN=..."));
    EXPECT_THAT(again.out + again.err, Not(HasSubstr("sekrit")));
    EXPECT_THAT(content_of(run_dir("fails-0002") / "logs" / "0" / "0.log"), HasSubstr("sekrit-1"));
    auto const copied = osora({"init", "--from", "1"});
    write("copied.toml", copied.out);
    auto const refused = osora({"submit", "copied.toml"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--set worker.env.MY_TOKEN=..."));
}

TEST_F(Secrets, TheEnvironmentGoesWithTheRun) {
    environment_.push_back("HF_TOKEN=sekrit-of-the-shell");
    ASSERT_EQ(osora({"daemon", "start"}).code, 0);
    write_failing_run("sekrit-1");
    EXPECT_EQ(osora({"submit", "fails.toml"}).code, 1);
    EXPECT_TRUE(eventually([&] { return !fs::exists(run_dir("fails-0001") / "environment"); }));
    // A file that the daemon could not remove: the next command does.
    write("state/runs/fails-0001/environment", "{}");
    EXPECT_EQ(osora({"status", "1"}).code, 0);
    EXPECT_FALSE(fs::exists(run_dir("fails-0001") / "environment"));
    EXPECT_EQ(osora({"resume", "1"}).code, 1) << "it is written again";
}

TEST_F(Secrets, AnotherUserReadsChangesAndStartsNothing) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    if (!fs::exists("/usr/bin/setpriv")) GTEST_SKIP() << "setpriv (util-linux) is missing";
    ASSERT_EQ(::chown(folder_.c_str(), 0, kNobody), 0);
    ASSERT_EQ(::chmod(folder_.c_str(), 02755), 0) << "what is made in it is the shared group's";
    write_run_file(20, "[worker]\nenv = { WANDB_API_KEY = \"sekrit-1\" }\n");
    fs::permissions(folder_ / "run.toml", fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    write_failing_run("sekrit-1");
    ASSERT_EQ(osora({"submit", "fails.toml"}).code, 1);
    ASSERT_EQ(osora({"history", "export", "--all", "--to", "case.osora"}).code, 0);
    auto const place = fmt::format("cd \"$(dirname \"$OSORA_STATE_DIR\")\" || exit 9; ");
    auto const read =
        as_nobody(place + "find . -type f -exec cat {} + 2>/dev/null | grep -c sekrit");
    EXPECT_EQ(read.out, "0\n") << read.err;
    EXPECT_NE(as_nobody(place + "ls state").code, 0);
    EXPECT_NE(as_nobody(place + "touch state/runs/x || touch state/x").code, 0);
    EXPECT_NE(as_nobody(place + "mv state other").code, 0);
    auto const started = as_nobody(OSORA_BIN_DIR "/osora resume 2");
    EXPECT_NE(started.code, 0) << started.out << started.err;
    EXPECT_EQ(mode_of(state()), 0700);
    EXPECT_EQ(mode_of(state() / "runs"), 0700);
}

TEST_F(Secrets, AnOldStateFolderIsClosedOnce) {
    fs::create_directories(state() / "runs");
    fs::permissions(state(), fs::perms(0775));
    fs::permissions(state() / "runs", fs::perms(0775));
    write("state/history.db", "");
    write("state/history.db.kept-1", "old");
    write_run_file(5);
    auto const first = osora({"submit", "run.toml"});
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("note: closed to other users: "));
    EXPECT_THAT(osora({"submit", "run.toml"}).err, Not(HasSubstr("closed to other users")));
    EXPECT_EQ(osora({"history"}).code, 0);
    for (auto const* file : {"state/history.db", "state/history.db.kept-1"}) {
        EXPECT_EQ(mode_of(folder_ / file), 0600) << file;
    }
}

TEST_F(Secrets, AStateFolderOfSomebodyElseIsReadAndNotUsed) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    write_run_file(5);
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    // As that user might set a trap for root.
    write("precious", "mine");
    fs::remove(state() / "history.db");
    fs::create_symlink(folder_ / "precious", state() / "history.db");
    ASSERT_EQ(::chown(state().c_str(), 4242, 4242), 0);
    for (auto const& command : std::vector<std::vector<std::string>>{
             {"submit", "run.toml"}, {"resume", "1"}, {"daemon", "start"}}) {
        auto const refused = osora(command);
        EXPECT_EQ(refused.code, 2) << command[0];
        EXPECT_THAT(refused.err, HasSubstr("belongs to uid 4242")) << command[0];
    }
    auto const read = osora({"history"});
    EXPECT_EQ(read.code, 0) << read.err;
    EXPECT_THAT(read.out, HasSubstr("demo"));
    EXPECT_THAT(read.err, HasSubstr("belongs to uid 4242"));
    EXPECT_EQ(content_of(folder_ / "precious"), "mine");
    ASSERT_EQ(::chown(state().c_str(), 0, 0), 0);
}

}  // namespace
}  // namespace osora::e2e_cli
