// Built commits are kept, half-built ones are not, and old ones make room. With a real git.
#include "cli/bisect/commits/worktrees.hpp"

#include "base/process/capture.hpp"
#include "cli/bisect/commits/commit_runner.hpp"
#include "cli/run/code_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WorktreesToRemove, AreTheLeastRecentlyUsedOnes) {
    std::vector<KeptWorktree> const kept{{"new", 10, 300}, {"old", 10, 100}, {"mid", 40, 200}};
    constexpr std::int64_t kPlenty = 1000;
    EXPECT_THAT(worktrees_to_remove(kept, {.count = 4, .free_bytes = kPlenty}), IsEmpty());
    EXPECT_THAT(worktrees_to_remove(kept, {.count = 3, .free_bytes = kPlenty}), ElementsAre("old"));
    // 60 bytes, and the next may take 40.
    EXPECT_THAT(worktrees_to_remove(kept, {.bytes = 100, .free_bytes = kPlenty}), IsEmpty());
    EXPECT_THAT(worktrees_to_remove(kept, {.bytes = 90, .free_bytes = kPlenty}),
                ElementsAre("old"));
    EXPECT_THAT(worktrees_to_remove(kept, {.bytes = 89, .free_bytes = kPlenty}),
                ElementsAre("old", "mid"));
    EXPECT_THAT(worktrees_to_remove(kept, {.free_bytes = 35}), ElementsAre("old"));
    EXPECT_THAT(worktrees_to_remove(kept, {.free_bytes = 0}), ElementsAre("old", "mid"));
    EXPECT_THAT(worktrees_to_remove({}, {.free_bytes = 0}), IsEmpty());
}

class WorktreesTest : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-worktrees-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        environment_ = {"PATH=/usr/bin:/bin", "HOME=" + folder_.string()};
        for (auto const* who : {"AUTHOR", "COMMITTER"}) {
            environment_.push_back(std::string("GIT_") + who + "_NAME=A Tester");
            environment_.push_back(std::string("GIT_") + who + "_EMAIL=tester@example.org");
        }
        fs::create_directories(repository());
        git({"init", "--quiet", "--initial-branch=main"});
        for (int i = 0; i < 2; ++i) {
            std::ofstream(repository() / "source") << i << "\n";
            git({"add", "--all"});
            git({"commit", "--quiet", "-m", "change"});
            commits_.push_back(git({"rev-parse", "HEAD"}));
        }
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] fs::path repository() const { return folder_ / "repository"; }
    std::string git(std::vector<std::string> const& arguments) {
        auto const text = Git::find(environment_)->run(repository(), arguments);
        EXPECT_TRUE(text.has_value()) << text.error().message;
        return text.has_value() ? *text : "";
    }
    Worktrees open(std::vector<std::string> build, bool retry_failed = false) {
        WorktreeOptions options{.build = std::move(build),
                                .environment = environment_,
                                .retry_failed = retry_failed,
                                .on_build = [this](auto const&, auto const&) { ++builds_; }};
        options.build_limit = limit_;
        return Worktrees::open(*Git::find(environment_), repository(), folder_ / "state",
                               std::move(options))
            .value();
    }

    fs::path folder_;
    Environment environment_;
    std::vector<std::string> commits_;
    std::chrono::milliseconds limit_{60'000};
    int builds_ = 0;
};

std::vector<std::string> const kCopy{"cp", "source", "made"};

std::string content(fs::path const& file) {
    std::ifstream stream(file);
    std::string text;
    std::getline(stream, text);
    return text;
}

TEST_F(WorktreesTest, EachCommitIsBuiltOnceByOneRecipe) {
    fs::path folder;
    {
        auto worktrees = open(kCopy);
        for (int i : {0, 1, 0}) {
            auto const built = worktrees.ready(commits_[static_cast<std::size_t>(i)]);
            ASSERT_TRUE(built.has_value()) << built.error().message;
            EXPECT_EQ(content(built->folder / "made"), std::to_string(i));
            folder = built->folder;
        }
    }
    EXPECT_EQ(builds_, 2);
    EXPECT_TRUE(open(kCopy).ready(commits_[0])->is_built());
    EXPECT_EQ(builds_, 2) << "kept on disk";
    EXPECT_TRUE(open({"touch", "other"}).ready(commits_[0])->is_built());
    EXPECT_EQ(builds_, 3) << "another recipe";
    EXPECT_FALSE(fs::exists(folder / "made"));
    EXPECT_EQ(git({"status", "--porcelain"}), "");
}

TEST_F(WorktreesTest, AHalfBuiltFolderIsBuiltAgain) {
    auto const built = open(kCopy).ready(commits_[0]);
    std::ofstream(built->folder / "left over") << "x";
    fs::remove(built->folder.string() + ".json");
    EXPECT_TRUE(open(kCopy).ready(commits_[0])->is_built());
    EXPECT_EQ(builds_, 2);
    EXPECT_FALSE(fs::exists(built->folder / "left over"));
    // What a user removes by hand is made again, too; and what was killed while git made it, which
    // leaves it locked.
    git({"worktree", "lock", built->folder.string()});
    fs::remove_all(built->folder);
    auto const again = open(kCopy).ready(commits_[0]);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(content(built->folder / "made"), "0");
}

TEST_F(WorktreesTest, AFailedBuildIsRememberedWithItsLastOutput) {
    std::vector<std::string> const failing{"sh", "-c", "echo one; echo 'no rule' >&2; exit 7"};
    auto const built = open(failing).ready(commits_[0]);
    ASSERT_TRUE(built.has_value()) << built.error().message;
    EXPECT_EQ(built->why_not, "exited with 7: no rule");
    EXPECT_EQ(content(built->log), "one");
    EXPECT_FALSE(fs::exists(built->folder));
    EXPECT_EQ(open(failing).ready(commits_[0])->why_not, built->why_not);
    EXPECT_EQ(builds_, 1);
    EXPECT_FALSE(open(failing, true).ready(commits_[0])->is_built());
    EXPECT_EQ(builds_, 2) << "requested again";
}

TEST_F(WorktreesTest, ABuildThatHangsIsStopped) {
    limit_ = std::chrono::milliseconds(50);
    auto const built = open({"sh", "-c", "sleep 600 & sleep 600"}).ready(commits_[0]);
    ASSERT_TRUE(built.has_value()) << built.error().message;
    EXPECT_THAT(built->why_not, HasSubstr("was stopped after"));
}

TEST_F(WorktreesTest, TroublesThatAreNotTheCommitsAreErrorsAndForgotten) {
    auto const missing = open({"no-such-program"}).ready(commits_[0]);
    ASSERT_TRUE(missing.has_error());
    EXPECT_EQ(missing.error().code, Errc::not_found);
    std::vector<std::string> const full{"sh", "-c", "echo 'cc: No space left on device'; exit 1"};
    auto const out_of_space = open(full).ready(commits_[0]);
    ASSERT_TRUE(out_of_space.has_error());
    EXPECT_EQ(out_of_space.error().code, Errc::out_of_space);
    EXPECT_THAT(out_of_space.error().message, HasSubstr("worktrees may be removed"));
    auto const killed = open({"sh", "-c", "kill -9 $$"}).ready(commits_[0]);
    ASSERT_TRUE(killed.has_error());
    EXPECT_EQ(killed.error().code, Errc::out_of_memory);
    EXPECT_TRUE(open(kCopy).ready(commits_[0])->is_built());
}

TEST_F(WorktreesTest, OneProcessAtATime) {
    auto const first = open(kCopy);
    auto const second = Worktrees::open(*Git::find(environment_), repository(), folder_ / "state",
                                        {.build = kCopy, .environment = environment_});
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().code, Errc::busy);
}

TEST_F(WorktreesTest, ATrialRunsFromTheCommit) {
    CommitRange range{.build = kCopy, .roots = {repository()}, .is_exec = true};
    auto const finder = *Git::find(environment_);
    range.path = *commit_path(finder, repository(), commits_[0], commits_[1]);
    WorktreeOptions const options{.build = kCopy, .environment = environment_};
    CommitRunner runner(range, folder_ / "state", options);
    TrialStart start;
    start.base_dir = repository();
    start.config.worker.command = {"sh", (repository() / "made").string(), "/bin/true"};
    auto const why = runner.place(1, start);
    ASSERT_TRUE(why.has_value()) << why.error().message;
    EXPECT_EQ(*why, "");
    EXPECT_EQ(content(start.base_dir / "made"), "1");
    EXPECT_EQ(content(start.config.worker.command[1]), "1");
    EXPECT_EQ(start.config.worker.command[2], "/bin/true");
    start.base_dir = "/";
    start.config.worker.command = {"true"};
    EXPECT_THAT(runner.place(0, start).error().message, HasSubstr("nor the command is in"));
}

TEST_F(WorktreesTest, OsorasOwnWorkerComesFromTheCommit) {
    std::vector<std::string> const build{
        "sh", "-c",
        "grep -q 0 source || { mkdir -p build/bin; cp source build/bin/osora-worker; }"};
    CommitRange range{.build = build};
    range.path = *commit_path(*Git::find(environment_), repository(), commits_[0], commits_[1]);
    CommitRunner runner(range, folder_ / "state", {.build = build, .environment = environment_});
    TrialStart start;
    EXPECT_EQ(*runner.place(1, start), "");
    EXPECT_EQ(content(variable_or(start.environment, "OSORA_WORKER", "")), "1");
    EXPECT_THAT(*runner.place(0, start), HasSubstr("made no build/bin/osora-worker"));
}

TEST_F(WorktreesTest, TheRunsOwnCommitsHaveToBuild) {
    CommitRange range{.build = {"grep", "1", "source"}, .is_exec = true};
    range.path = *commit_path(*Git::find(environment_), repository(), commits_[0], commits_[1]);
    CommitRunner runner(range, folder_ / "state",
                        {.build = range.build, .environment = environment_});
    TrialStart start;
    auto const why = runner.place(1, start);
    ASSERT_TRUE(why.has_error());
    EXPECT_THAT(why.error().message, HasSubstr("of the good run does not build"));
}

TEST_F(WorktreesTest, PathsOfARealRepository) {
    auto const finder = *Git::find(environment_);
    auto const path = commit_path(finder, repository(), commits_[0], commits_[1]);
    ASSERT_TRUE(path.has_value()) << path.error().message;
    EXPECT_EQ(path->steps(), 1);
    EXPECT_EQ(path->commit(0).subject, "change");
    auto const back = commit_path(finder, repository(), commits_[1], commits_[0]);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(back->undone, 1);
    EXPECT_EQ(back->commit(0).hash, commits_[1]);
    EXPECT_TRUE(commit_path(finder, repository(), commits_[0], commits_[0]).has_error());
    auto const unknown = commit_path(finder, repository(), commits_[0], std::string(40, 'a'));
    EXPECT_THAT(unknown.error().message, HasSubstr("is not in"));
    EXPECT_TRUE(commit_path(finder, repository(), "--all", commits_[0]).has_error());
    EXPECT_TRUE(commit_path(finder, folder_, commits_[0], commits_[1]).has_error());
    git({"checkout", "--quiet", "--orphan", "island"});
    git({"commit", "--quiet", "-m", "alone"});
    auto const island = commit_path(finder, repository(), commits_[1], git({"rev-parse", "HEAD"}));
    EXPECT_THAT(island.error().message, HasSubstr("no commit in common"));
}

TEST_F(WorktreesTest, ARunRecordsItsCommitAndWhatIsNotCommitted) {
    auto const facts = code_facts(environment_, repository(), {"sh", "run.sh"});
    EXPECT_EQ(facts.at("code.commit"), commits_[1]);
    EXPECT_EQ(facts.at("code.dirty"), "no");
    std::ofstream(repository() / "notes") << "not in git";
    EXPECT_EQ(code_facts(environment_, repository(), {}).at("code.dirty"), "no");
    std::ofstream(repository() / "source") << "changed\n";
    auto const dirty = code_facts(environment_, folder_, {"cat", "repository/source"});
    EXPECT_EQ(dirty.at("code.repository"), fs::canonical(repository()).string());
    EXPECT_THAT(dirty.at("code.dirty"), testing::StartsWith("1 file, "));
    EXPECT_THAT(code_facts(environment_, folder_, {"cat"}), IsEmpty()) << "no repository";
    EXPECT_THAT(code_facts({"PATH=/none"}, repository(), {}), IsEmpty()) << "no git";
}

}  // namespace
}  // namespace osora::cli
