#include "cli/run/runs.hpp"

#include "base/files/files.hpp"
#include "protocol/journal/run_events.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <thread>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

class Runs : public testing::Test {
protected:
    Runs() : state_(fs::path(testing::TempDir()) / fmt::format("state 'x' {}", ::getpid())) {}
    ~Runs() override { fs::remove_all(state_); }

    RunFolder make(std::string_view name, std::string_view uuid) {
        auto const run = make_run_folder(state_, name);
        EXPECT_TRUE(run.has_value());
        protocol::RunSubmitted event;
        event.run_uuid = uuid;
        EXPECT_TRUE(
            write_file_atomic(run->paths.submission(), protocol::encode(event)).has_value());
        return *run;
    }
    std::string found(std::string_view wanted) {
        auto const run = find_run(state_, wanted);
        return run.has_value() ? run->name : run.error().message;
    }
    fs::path state_;
};

TEST(RunNames, NumberFollowsTheLastDash) {
    EXPECT_EQ(number_of("stage1-0042"), 42);
    EXPECT_EQ(number_of("a-b-12345"), 12345);
    for (char const* other :
         {"stage1", "stage1-42", "-0042", "x-00a2", "x-", ".lock", "x-99999999999999",
          "$(touch pwned)x-0007", "a b-0007", "1a-0007", "x\n-0007", "a;b-0007", ".a-0007"}) {
        EXPECT_EQ(number_of(other), 0) << other;
    }
}

TEST_F(Runs, NumbersEnd) {
    fs::create_directories(state_ / "runs" / "x-2147483647");
    auto const run = make_run_folder(state_, "demo");
    ASSERT_TRUE(run.has_error());
    EXPECT_THAT(run.error().message, testing::HasSubstr("x-2147483647: run numbers end at "));
}

TEST_F(Runs, ImportedOnesAreLookedAtLastAndRefused) {
    make("demo", "aaaa1111-0000");
    fs::create_directories(state_ / "runs" / "evil-0041.abe00411");
    fs::create_directories(state_ / "runs" / "demo-0001.cccc0000");
    EXPECT_EQ(list_runs(state_)->size(), 1u);
    EXPECT_EQ(found("1"), "demo-0001");
    EXPECT_EQ(found("demo"), "demo-0001");
    for (char const* wanted : {"41", "evil", "evil-0041", "evil-0041.abe00411", "abe0", "abe00411",
                               "abe00411-1111-4111-8111-111111111111"}) {
        EXPECT_THAT(found(wanted), testing::HasSubstr("evil-0041.abe00411 was imported")) << wanted;
        auto const taken = find_run(state_, wanted, Imported::taken);
        ASSERT_TRUE(taken.has_value()) << wanted;
        EXPECT_TRUE(taken->imported);
        EXPECT_EQ(taken->number, 41);
    }
    EXPECT_THAT(found("ab"), testing::HasSubstr("no such run"));
    EXPECT_EQ(next_run_folder(state_, "demo")->number, 2);
}

TEST_F(Runs, NoneYet) {
    EXPECT_TRUE(list_runs(state_)->empty());
    EXPECT_EQ(found("1"), "run 1: there are no runs yet; osora submit starts one");
}

TEST_F(Runs, FoundByNumberNameSeriesAndUuid) {
    make("demo", "aaaa1111-0000");
    make("stage1", "bbbb2222-0000");
    make("demo", "bbbb3333-0000");
    EXPECT_EQ(found("1"), "demo-0001");
    EXPECT_EQ(found("0002"), "stage1-0002");
    EXPECT_EQ(found("stage1-0002"), "stage1-0002");
    EXPECT_EQ(found("demo"), "demo-0003");  // the newest of its series
    EXPECT_EQ(found("aaaa"), "demo-0001");
    EXPECT_EQ(found("bbbb2"), "stage1-0002");
    EXPECT_EQ(found("bbbb"), "run bbbb: demo-0003 and stage1-0002 start with it");
    EXPECT_EQ(found("stgae1"), "run stgae1: no such run; did you mean stage1?");
    EXPECT_EQ(found("9"), "run 9: no such run; the newest is 3 (demo-0003)");
    EXPECT_EQ(found("aaa"), "run aaa: no such run; the newest is 3 (demo-0003)");  // too short
}

TEST_F(Runs, FoldersArePrivate) {
    auto const run = make("demo", "u");
    struct stat info {};
    ASSERT_EQ(::stat(run.paths.dir.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(Runs, TwoSubmitsAtOnceGetTwoNumbers) {
    constexpr int kThreads = 8;
    constexpr int kEach = 10;
    std::vector<std::vector<int>> numbers(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < kEach; ++k) {
                auto const run = make_run_folder(state_, i % 2 == 0 ? "even" : "odd");
                numbers[static_cast<std::size_t>(i)].push_back(run.has_value() ? run->number : -1);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    std::set<int> all;
    for (auto const& each : numbers) all.insert(each.begin(), each.end());
    EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads * kEach));
    EXPECT_EQ(*all.begin(), 1);
    EXPECT_EQ(*all.rbegin(), kThreads * kEach);
}

}  // namespace
}  // namespace osora::cli
