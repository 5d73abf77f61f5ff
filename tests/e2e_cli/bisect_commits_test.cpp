// osora bisect over the commits of a user's repository: job = "exec" runs a script that reports the
// time of its steps, and one commit makes them slower.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

#include <csignal>

namespace osora::e2e_cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int kCommits = 9, kCulprit = 6, kBroken = 4;

class BisectCommits : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        for (auto const* who : {"AUTHOR", "COMMITTER"}) {
            set_variable(environment_, fmt::format("GIT_{}_NAME", who), "A Tester");
            set_variable(environment_, fmt::format("GIT_{}_EMAIL", who), "tester@example.org");
        }
        set_variable(environment_, "HOLD", (folder_ / "hold").string());
        fs::create_directories(code());
        git({"init", "--quiet", "--initial-branch=main"});
        write_code("run.toml",
                   "[run]\nname = \"mine\"\njob = \"exec\"\n[resources]\ngpus_per_node = 1\n"
                   "[worker]\ncommand = [\"sh\", \"run.sh\"]\n"
                   "[bisect]\nbuild = [\"sh\", \"build.sh\"]\n");
        write_code(".gitignore", "pace\n");
        write_code("run.sh",
                   "while [ -e \"$HOLD\" ] && [ ! -e \"$OSORA_RUN_DIR/go\" ]; do sleep 0.02; done\n"
                   "s=0\nwhile [ $s -lt 20 ]; do\n"
                   "  echo step=$s time_s=$(cat pace)${EXTRA:-0} >&$OSORA_STEP_FD\n"
                   "  s=$((s+1))\ndone\n");
        for (int i = 0; i < kCommits; ++i) {
            write_code("source", pace(i));
            write_code("build.sh", i == kBroken ? "echo no rule; exit 3\n" : "cp source pace\n");
            write_code("log", fmt::format("change {}\n", i));
            git({"add", "--all"});
            git({"commit", "--quiet", "-m", fmt::format("change {}", i)});
            hashes_.push_back(git({"rev-parse", "HEAD"}));
        }
    }

    [[nodiscard]] fs::path code() const { return folder_ / "my code"; }
    void write_code(fs::path const& name, std::string const& text) const {
        write(fs::path("my code") / name, text);
    }

    std::string git(std::vector<std::string> const& arguments) {
        auto program = tests::start_program({.program = "/usr/bin/git",
                                             .arguments = arguments,
                                             .environment = environment_,
                                             .working_directory = code()},
                                            folder_ / fmt::format("command-{}", started_++));
        EXPECT_TRUE(program.has_value()) << program.error().message;
        auto const ended = program->wait();
        EXPECT_EQ(ended.code, 0) << ended.err;
        return ended.out.substr(0, ended.out.find('\n'));
    }

    /// Of the steps of a commit, except for the last digit.
    static std::string pace(int index) { return index < kCulprit ? "0.01" : "0.03"; }

    /// Runs the content of commit `index`, as its author would.
    void run_commit(int index, std::string const& extra = "0") {
        git({"checkout", "--quiet", hashes_[static_cast<std::size_t>(index)]});
        write_code("pace", pace(index));
        auto const ended = osora(
            {"submit", "my code/run.toml", "--set", fmt::format("worker.env.EXTRA=\"{}\"", extra)});
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    }

    [[nodiscard]] std::string short_hash(int index) const {
        return hashes_[static_cast<std::size_t>(index)].substr(0, 10);
    }

    std::vector<std::string> hashes_;
};

TEST_F(BisectCommits, NamesTheCommitAndGoesOnAfterAKill) {
    run_commit(0);
    run_commit(kCommits - 1);
    auto const plan = osora({"bisect", "1", "2", "--dry-run"});
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr(fmt::format("8 commits from {} to {}", short_hash(0),
                                                short_hash(kCommits - 1))));
    EXPECT_FALSE(fs::exists(folder_ / "state" / "worktrees"));
    write("hold", "");
    auto running = start({"bisect", "1", "2"});
    for (int number = 3; number <= 6; ++number) {
        auto const name = fmt::format("mine-bisect-{:04}", number);
        ASSERT_TRUE(eventually([&] { return fs::exists(run_dir(name)); }));
        if (number < 6) run(name).release();
    }
    running.signal(SIGKILL);
    [[maybe_unused]] auto const killed = running.wait();
    fs::remove(folder_ / "hold");
    auto const ended = osora({"bisect", "1", "2"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr(" trials are known"));
    EXPECT_THAT(ended.out,
                HasSubstr(fmt::format("\nproved: commit {} \"change 6\"", short_hash(kCulprit))));
    EXPECT_THAT(ended.out, HasSubstr(fmt::format("diff {} {}", short_hash(kCulprit - 1),
                                                 short_hash(kCulprit))));
    // Replayed from saved trials: no run is made.
    auto const runs = osora({"history", "--format", "csv"}).out;
    auto const again = osora({"bisect", "1", "2", "--json"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(osora({"history", "--format", "csv"}).out, runs);
    auto const answer = protocol::parse_json(again.out);
    ASSERT_TRUE(answer.has_value()) << again.out;
    EXPECT_EQ(answer->at("verdict"), "proved");
    ASSERT_EQ(answer->at("culprits").as_array().size(), 1u);
    auto const& culprit = answer->at("culprits").at(0);
    EXPECT_EQ(culprit.at("factor"), "commit");
    EXPECT_STREQ(culprit.at("good").as_string().c_str(), hashes_[kCulprit - 1].c_str());
    EXPECT_STREQ(culprit.at("bad").as_string().c_str(), hashes_[kCulprit].c_str());
    EXPECT_LE(culprit.at("p").to_number<double>(), 0.05);
    EXPECT_EQ(git({"status", "--porcelain"}), "") << "the user's own folder is left alone";
    EXPECT_EQ(git({"rev-parse", "HEAD"}), hashes_.back());
}

TEST_F(BisectCommits, FindsTheCommitBesideAnotherCause) {
    run_commit(kBroken + 1);
    run_commit(kCulprit + 1, "9");
    auto const ended = osora({"bisect", "1", "2"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out,
                HasSubstr(fmt::format("\nproved: commit {} \"change 6\"", short_hash(kCulprit))));
    EXPECT_THAT(ended.out, HasSubstr("  31 %  worker.env.EXTRA = 9\n"));
    auto const runs = osora({"history", "--format", "csv"}).out;
    EXPECT_EQ(osora({"bisect", "1", "2"}).code, 0);
    EXPECT_EQ(osora({"history", "--format", "csv"}).out, runs) << "played back";
    EXPECT_THAT(ended.out, HasSubstr(fmt::format("revert {}\n", short_hash(kCulprit))));
}

TEST_F(BisectCommits, SaysWhyCommitsAreNotTried) {
    run_commit(0);
    run_commit(kCommits - 1);
    auto const without = osora({"bisect", "1", "2", "--dry-run", "--set", "bisect.build=[]"});
    EXPECT_EQ(without.code, 3) << without.err;
    EXPECT_THAT(without.out, HasSubstr("not tried: code.commit"));
    EXPECT_THAT(without.out, HasSubstr("[bisect] build"));
    fs::rename(code(), folder_ / "elsewhere");
    auto const moved = osora({"bisect", "1", "2", "--dry-run"});
    EXPECT_EQ(moved.code, 3) << moved.err;
    EXPECT_THAT(moved.out, HasSubstr("not there any more"));
    EXPECT_EQ(osora({"bisect", "1", "2", "--set", "train.steps=3"}).code, 2);
}

}  // namespace
}  // namespace osora::e2e_cli
