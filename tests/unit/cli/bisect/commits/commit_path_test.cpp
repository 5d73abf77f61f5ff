// Commits between two runs: what git prints becomes a path of single steps.
#include "cli/bisect/commits/commit_path.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using ::testing::HasSubstr;

std::string hash(char digit) {
    return std::string(40, digit);
}

CommitInfo commit(char digit, char parent) {
    return {.hash = hash(digit), .first_parent = hash(parent), .date = {}, .subject = {}};
}

std::string letters(std::vector<CommitInfo> const& commits) {
    std::string text;
    for (auto const& each : commits) text += each.hash[0];
    return text;
}

TEST(ParseCommits, TakesWhatGitPrints) {
    auto const text = fmt::format("{}\x1f{} {}\x1f{}\x1f{}", hash('a'), hash('b'), hash('c'),
                                  "2026-05-03", "read \x1f ahead") +
                      std::string(1, '\0') +
                      fmt::format("{}\x1f\x1f{}\x1f", hash('b'), "2026-05-02") +
                      std::string(1, '\0');
    auto const commits = parse_commits(text);
    ASSERT_TRUE(commits.has_value()) << commits.error().message;
    ASSERT_EQ(commits->size(), 2u);
    EXPECT_EQ((*commits)[0].first_parent, hash('b')) << "of a merge";
    EXPECT_EQ((*commits)[0].subject, "read \x1f ahead");
    EXPECT_EQ((*commits)[0].short_hash(), "aaaaaaaaaa");
    EXPECT_EQ((*commits)[1].first_parent, "") << "the first of a repository";
    EXPECT_EQ((*commits)[1].subject, "");
    EXPECT_TRUE(parse_commits("")->empty());
}

TEST(ParseCommits, RefusesWhatIsNoCommit) {
    EXPECT_TRUE(parse_commits("fatal: nothing").has_error());
    EXPECT_TRUE(parse_commits("--output=x\x1f\x1f\x1f").has_error());
    auto const latin = parse_commits(fmt::format("{}\x1f\x1f\x1fGr\xfc\xdf", hash('a')));
    EXPECT_EQ(latin->front().subject, "Gr??");
}

TEST(CommitHash, IsAWholeNameAndNothingElse) {
    EXPECT_TRUE(is_commit_hash(hash('a')));
    EXPECT_TRUE(is_commit_hash(std::string(64, '0')));
    for (std::string const bad : {"", "abc", "HEAD", "--all"}) EXPECT_FALSE(is_commit_hash(bad));
    EXPECT_FALSE(is_commit_hash(std::string(40, 'A')));
    EXPECT_FALSE(is_commit_hash(std::string(39, 'a') + "-"));
}

TEST(JoinedPath, GoesForwardFromAnAncestor) {
    auto const states = joined_path({}, commit('1', '0'), {commit('3', '2'), commit('2', '1')});
    EXPECT_EQ(letters(*states), "123");
}

TEST(JoinedPath, GoesBackToWhereTheyPart) {
    auto const states = joined_path({commit('b', 'a'), commit('a', '1')}, commit('1', '0'),
                                    {commit('3', '2'), commit('2', '1')});
    EXPECT_EQ(letters(*states), "ba123");
    CommitPath const path{.repository = "/r", .states = *states, .undone = 2};
    EXPECT_EQ(path.steps(), 4);
    EXPECT_EQ(path.commit(0).hash, hash('b')) << "undone first";
    EXPECT_EQ(path.commit(1).hash, hash('a'));
    EXPECT_EQ(path.commit(2).hash, hash('2'));
    EXPECT_EQ(path.commit(3).hash, hash('3')) << "added last";
    EXPECT_TRUE(path.is_undone(1));
    EXPECT_FALSE(path.is_undone(2));
    EXPECT_EQ(letters(*joined_path({commit('2', '1')}, commit('1', '0'), {})), "21");
}

TEST(JoinedPath, StepsAreSingleCommitsOrThereIsNone) {
    auto const states = joined_path({commit('a', '7')}, commit('1', '0'), {commit('2', '1')});
    ASSERT_TRUE(states.has_error());
    EXPECT_THAT(states.error().message, HasSubstr("first parents"));
}

}  // namespace
}  // namespace osora::cli
