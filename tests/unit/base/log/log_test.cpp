// Lines as logfmt and JSON readers expect them, the level, and the rate limit.
#include "base/log/log_sinks.hpp"

#include "base/files/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <boost/json.hpp>

namespace osora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LogEntry entry_with(std::string_view message, std::vector<LogField> fields) {
    // `date -u -d @1767323045.678` gives the same.
    return {LogLevel::info, 1'767'323'045'678'901, std::string(message), std::move(fields)};
}

TEST(Log, LogfmtQuotesWhatNeedsIt) {
    auto const line = format_logfmt(entry_with(
        "agent joined", {{"node", 0}, {"host", "n1"}, {"why", "a \"b\"\nc"}, {"none", ""}}));
    EXPECT_EQ(line,
              "2026-01-02T03:04:05.678Z info \"agent joined\" node=0 host=n1 "
              "why=\"a \\\"b\\\"\\nc\" none=\"\"");
}

TEST(Log, BytesThatAreNotUtf8AreEscaped) {
    auto const line = format_logfmt(entry_with("odd", {{"value", "\xff\xc3\xa9\xc3"}}));
    EXPECT_THAT(line, HasSubstr("value=\\xff\xc3\xa9\\xc3"));
}

TEST(Log, JsonParsesBack) {
    auto const line = format_json(entry_with("odd", {{"value", "\"\n\xff"}, {"share", 0.25}}));
    auto const parsed = boost::json::parse(line).as_object();
    EXPECT_EQ(parsed.at("message").as_string(), "odd");
    EXPECT_EQ(parsed.at("value").as_string(), "\"\\n\\xff");
    EXPECT_EQ(parsed.at("share").as_string(), "0.25");
    EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Log, LinesBelowTheLevelAreNotWritten) {
    MemorySink sink;
    FakeEnv env;
    Logger log(sink, env, {.level = LogLevel::warning});
    log.info("quiet");
    log.warning("loud", {{"n", 3}});
    ASSERT_EQ(sink.entries.size(), 1u);
    EXPECT_EQ(sink.entries[0].message, "loud");
    EXPECT_EQ(sink.entries[0].fields[0].value, "3");
}

TEST(Log, AFloodIsBoundedAndCounted) {
    MemorySink sink;
    FakeEnv env;
    Logger log(sink, env, {.lines_per_s = 10, .burst_lines = 5});
    for (int i = 0; i < 1000; ++i) log.info("again");
    EXPECT_EQ(sink.entries.size(), 5u);
    env.advance(std::chrono::milliseconds(100));
    log.info("later");
    ASSERT_EQ(sink.entries.size(), 7u);
    EXPECT_EQ(sink.entries[5].message, "log lines dropped");
    EXPECT_EQ(sink.entries[5].fields[0].value, "995");
    EXPECT_EQ(sink.entries[6].message, "later");
}

TEST(Log, FileSinkAppendsLines) {
    std::string folder = testing::TempDir() + "osora-log-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    std::filesystem::path const path = std::filesystem::path(folder) / "a.log";
    for (int i = 0; i < 2; ++i) {
        auto sink = make_file_sink(path, LogFormat::logfmt);
        ASSERT_TRUE(sink.has_value());
        (*sink)->write(entry_with("hello", {{"i", i}}));
    }
    auto const text = read_file(path);
    ASSERT_TRUE(text.has_value());
    EXPECT_THAT(*text, HasSubstr("hello i=0\n"));
    EXPECT_THAT(*text, HasSubstr("hello i=1\n"));
    std::filesystem::remove_all(folder);
}

TEST(Log, FileSinkThatCannotBeOpenedSaysWhy) {
    auto const sink = make_file_sink("/proc/none/a.log", LogFormat::logfmt);
    ASSERT_TRUE(sink.has_error());
    EXPECT_THAT(sink.error().message, HasSubstr("/proc/none/a.log"));
}

TEST(Log, AFullDiskLosesTheLineOnly) {
    auto sink = make_file_sink("/dev/full", LogFormat::json);
    ASSERT_TRUE(sink.has_value());
    (*sink)->write(entry_with("lost", {}));
    (*sink)->write(entry_with("lost too", {}));
}

TEST(Env, FakeClocksMoveOnlyWhenTold) {
    FakeEnv env(7);
    auto const start = env.now();
    auto const wall = env.wall_us();
    EXPECT_EQ(env.now(), start);
    env.advance(std::chrono::seconds(2));
    EXPECT_EQ(env.now() - start, std::chrono::seconds(2));
    EXPECT_EQ(env.wall_us() - wall, 2'000'000);
    env.jump_wall_clock(-3'600'000'000);
    EXPECT_EQ(env.now() - start, std::chrono::seconds(2));
    EXPECT_LT(env.wall_us(), wall);
    FakeEnv same(7);
    EXPECT_EQ(env.random(), same.random());
}

TEST(Env, RealClocksAgreeWithTheSystem) {
    RealEnv env;
    auto const seconds = static_cast<std::int64_t>(::time(nullptr));
    EXPECT_NEAR(static_cast<double>(env.wall_us()) / 1e6, static_cast<double>(seconds), 2);
    auto const before = env.now();
    EXPECT_LE(before, env.now());
    EXPECT_NE(env.random(), env.random());
}

}  // namespace
}  // namespace osora
