// A trial of a commit runs the commit's files, and finds its data where they are.
#include "cli/bisect/commits/code_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace osora::cli {
namespace {

using ::testing::ElementsAre;

namespace fs = std::filesystem;

/// /repo has code/train.py and untracked data/clips.csv and .venv/bin/python; /link is /repo.
CodePlace place() {
    return {.roots = {"/repo", "/old/repo"},
            .base_dir = "/repo/jobs",
            .tree = "/tree",
            .is_code =
                [](fs::path const& relative) {
                    static std::set<fs::path> const code{"code/train.py", "code", ".", "jobs",
                                                         "jobs/cfg/a.yaml"};
                    return code.contains(relative);
                },
            .exists =
                [](fs::path const& path) {
                    static std::set<fs::path> const there{
                        "/repo/data/clips.csv", "/repo/jobs/out/x", "/repo/jobs/cfg/a.yaml"};
                    return there.contains(path.lexically_normal());
                },
            .real =
                [](fs::path const& path) {
                    auto const text = path.string();
                    return text.starts_with("/link") ? fs::path("/repo" + text.substr(5)) : path;
                }};
}

TEST(CodePlace, PathsOfCodeMoveAndOthersStay) {
    auto const moved = [](std::string const& word) { return moved_argument(word, place()); };
    EXPECT_EQ(moved("/repo/code/train.py"), "/tree/code/train.py");
    EXPECT_EQ(moved("/old/repo/code/train.py"), "/tree/code/train.py");
    EXPECT_EQ(moved("/link/code/train.py"), "/tree/code/train.py") << "through a symbolic link";
    EXPECT_EQ(moved("--script=/repo/code/./train.py"), "--script=/tree/code/train.py");
    EXPECT_EQ(moved("/repo/.venv/bin/python"), "/repo/.venv/bin/python");
    EXPECT_EQ(moved("/repository/code/train.py"), "/repository/code/train.py");
    EXPECT_EQ(moved("/repo/../etc/passwd"), "/repo/../etc/passwd");
    EXPECT_EQ(moved("cfg/a.yaml"), "cfg/a.yaml") << "the worktree has it";
    EXPECT_EQ(moved("../data/clips.csv"), "/repo/data/clips.csv") << "the worktree has it not";
    EXPECT_EQ(moved("--out=out/x"), "--out=/repo/jobs/out/x");
    EXPECT_EQ(moved("train"), "train");
    EXPECT_EQ(moved("lr=1/3"), "lr=1/3");
    EXPECT_EQ(moved(""), "");
}

TEST(CodePlace, TheFolderMovesWhenItIsInTheRepository) {
    EXPECT_EQ(moved_folder(place()), "/tree/jobs");
    auto there = place();
    there.base_dir = "/link/jobs";
    EXPECT_EQ(moved_folder(there), "/tree/jobs");
    there.base_dir = "/repo";
    EXPECT_EQ(moved_folder(there), "/tree/");
    there.base_dir = "/elsewhere";
    EXPECT_EQ(moved_folder(there), "/elsewhere");
}

TEST(CodePlace, PathListsMovePartByPart) {
    EXPECT_EQ(moved_path_list("/repo/code:/opt/lib::/repo/x", place()),
              "/tree/code:/opt/lib::/repo/x");
    EXPECT_EQ(moved_path_list("", place()), "");
    EXPECT_EQ(moved_path_list("INFO", place()), "INFO");
}

TEST(CodePlace, WhatDoesNotNameTheRepositoryIsSaid) {
    plan::RunConfig config;
    config.worker.command = {"python", "-m", "train"};
    config.worker.env = {{"LIBS", "/repo/code"}};
    Environment environment{"PYTHONPATH=/repo/code"};
    EXPECT_TRUE(move_to_tree(place(), config, environment).is_in_repository) << "its folder is";
    EXPECT_THAT(config.worker.command, ElementsAre("python", "-m", "train"));
    EXPECT_EQ(config.worker.env.at("LIBS"), "/tree/code");
    EXPECT_THAT(environment, ElementsAre("PYTHONPATH=/tree/code"));
    auto there = place();
    there.base_dir = "/elsewhere";
    EXPECT_FALSE(move_to_tree(there, config, environment).is_in_repository);
    config.worker.command = {"python", "/repo/code/train.py"};
    EXPECT_TRUE(move_to_tree(there, config, environment).is_in_repository);
}

TEST(CodePlace, WhatIsTheSameForAllCommitsIsSaid) {
    plan::RunConfig config;
    config.worker.command = {"../build/train", "/repo/code/train.py", "--data=../data/clips.csv",
                             "/usr/lib/x", "--out=out/x"};
    Environment environment;
    EXPECT_THAT(move_to_tree(place(), config, environment).left,
                ElementsAre("/repo/data/clips.csv", "/repo/jobs/out/x"));
}

}  // namespace
}  // namespace osora::cli
