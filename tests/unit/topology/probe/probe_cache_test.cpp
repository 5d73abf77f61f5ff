#include "topology/probe/probe_cache.hpp"

#include "base/files/files.hpp"
#include "protocol/json_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow_us = 1'800'000'000'000'000, kSecond_us = 1'000'000;
constexpr double kHour_s = 3600;

class ProbeCacheTest : public testing::Test {
protected:
    ProbeCacheTest() { fs::create_directories(folder_); }
    ~ProbeCacheTest() override { fs::remove_all(folder_); }

    static ProbeResult probe(std::string name, std::vector<std::string> nodes, double age_s) {
        ProbeResult result;
        result.source = std::move(name);
        result.nodes = std::move(nodes);
        result.wall_us = kNow_us - static_cast<std::int64_t>(age_s * kSecond_us);
        return result;
    }
    void write(std::string const& file, std::string const& text) {
        ASSERT_TRUE(write_file_atomic(folder_ / file, text).has_value());
    }
    void keep(ProbeResult const& probe) { write(probe.source + ".json", protocol::encode(probe)); }
    void written(std::string const& name, std::chrono::hours ago) {
        fs::last_write_time(folder_ / (name + ".json"), fs::file_time_type::clock::now() - ago);
    }
    [[nodiscard]] ProbeCache cache() const {
        return {folder_, protocol::read_json_file<ProbeResult>, kNow_us};
    }
    /// Name of the probe, "" for none.
    [[nodiscard]] std::string newest(ProbedHosts const& hosts, double age_max_s = kHour_s,
                                     ProbeTimeOf const& time_of = {}) const {
        auto const found = cache().newest(hosts, age_max_s, time_of);
        return found ? found->source : "";
    }

    fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("probes-{}", ::getpid());
};

TEST_F(ProbeCacheTest, IsTheNewestOfAnyHosts) {
    EXPECT_EQ(newest({}), "");
    keep(probe("old", {"n1"}, 20));
    keep(probe("new", {"n2"}, 10));
    EXPECT_EQ(newest({}), "new");
    fs::remove_all(folder_);
    EXPECT_EQ(newest({}), "") << "without the folder";
}

TEST_F(ProbeCacheTest, OtherHostsDoNotCount) {
    keep(probe("these", {"n1", "n2"}, 20));
    keep(probe("others", {"n3", "n4"}, 10));
    EXPECT_EQ(newest({.names = {"n1", "n9"}, .at_least = 1}), "these");
    EXPECT_EQ(newest({.names = {"n9"}, .at_least = 1}), "");
    EXPECT_EQ(newest({.names = {}, .at_least = 1}), "") << "no host is known";
}

TEST_F(ProbeCacheTest, ASubsetOfTheHostsIsEnoughWhereTheCallerSaysSo) {
    keep(probe("some", {"n1", "n2", "n7"}, 10));
    EXPECT_EQ(newest({.names = {"n1", "n2", "n3"}, .at_least = 2}), "some");
    EXPECT_EQ(newest({.names = {"n1", "n2", "n3"}, .at_least = 3}), "");
    keep(probe("all", {"n1", "n2", "n3", "n4"}, 20));
    EXPECT_EQ(newest({.names = {"n1", "n2", "n3"}, .at_least = 3}), "all") << "and one more";
}

TEST_F(ProbeCacheTest, ExactlyTheseHostsHaveTheirFile) {
    write(ProbeCache::name_of({"n1", "n2"}), protocol::encode(probe("two", {"n1", "n2"}, 20)));
    keep(probe("three", {"n1", "n2", "n3"}, 10));
    EXPECT_EQ(newest({.names = {"n2", "n1"}, .exactly = true}), "two");
    EXPECT_EQ(newest({.names = {"n1"}, .exactly = true}), "");
    EXPECT_EQ(newest({.names = {"n2", "n1"}, .exactly = true}, 19), "") << "too old";
    EXPECT_EQ(ProbeCache::name_of({"n1", "n2", "n3"}), "1afd220a5d7f9ee2.json");
}

TEST_F(ProbeCacheTest, TooOldOnesAndThoseFromTheFutureAreNotUsed) {
    keep(probe("hour", {"n1"}, kHour_s));
    EXPECT_EQ(newest({}), "hour");
    EXPECT_EQ(newest({}, kHour_s - 1), "");
    keep(probe("future", {"n1"}, -1));
    EXPECT_EQ(newest({}), "hour");
}

TEST_F(ProbeCacheTest, FilesThatAreCutOffOrOfAnotherVersionAreIgnored) {
    keep(probe("good", {"n1"}, 20));
    auto const text = protocol::encode(probe("cut", {"n1"}, 10));
    write("cut.json", text.substr(0, text.size() / 2));
    write("empty.json", "");
    auto version = protocol::to_json(probe("version", {"n1"}, 10)).as_object();
    version["pairs"] = protocol::json::array{
        protocol::json::object{{"stage", "a stage that this version does not know"}}};
    write("version.json", protocol::json::serialize(version));
    write("readme.txt", protocol::encode(probe("text", {"n1"}, 10)));
    fs::create_directories(folder_ / "folder.json");
    EXPECT_EQ(newest({}), "good");
    write(ProbeCache::name_of({"n1"}), text.substr(0, text.size() / 2));
    EXPECT_EQ(newest({.names = {"n1"}, .exactly = true}), "");
    version["pairs"] = protocol::json::array();
    version["a key of a later version"] = 7;
    write("version.json", protocol::json::serialize(version));
    EXPECT_EQ(newest({}), "version") << "keys that are not known do no harm";
}

TEST_F(ProbeCacheTest, OfTwoProbesInOneSecondItIsTheLater) {
    auto first = probe("b", {"n1"}, 10), second = probe("a", {"n1"}, 10);
    ++second.wall_us;
    keep(first);
    keep(second);
    for (auto const& [a, b] : {std::pair{1, 2}, {2, 1}}) {  // hours
        written("a", std::chrono::hours(a));
        written("b", std::chrono::hours(b));
        EXPECT_EQ(newest({}), "a") << "whichever file was written last";
    }
    first.wall_us = second.wall_us;
    keep(first);
    written("a", std::chrono::hours(2));
    written("b", std::chrono::hours(1));
    EXPECT_EQ(newest({}), "b") << "at the same microsecond the file that was written last";
}

TEST_F(ProbeCacheTest, ACallerSaysWhichTimeCounts) {
    auto timed = probe("timed", {"n1"}, 10);
    timed.collectives_wall_us = kNow_us - 30 * kSecond_us;
    timed.collectives.resize(1);
    keep(timed);
    keep(probe("links", {"n1"}, 20));
    keep(probe("refused", {"n1"}, 5));
    auto const time_of = [](ProbeResult const& each) {
        bool const preferred = !each.collectives.empty();
        ProbeTime const time{preferred, preferred ? each.collectives_wall_us : each.wall_us};
        return each.source == "refused" ? std::nullopt : std::optional(time);
    };
    EXPECT_EQ(newest({}, 30, time_of), "timed");
    EXPECT_EQ(newest({}, 29, time_of), "links") << "its collectives are too old";
    EXPECT_EQ(newest({}, 19, time_of), "");
}

TEST_F(ProbeCacheTest, ReadsTheFilesThatWereWrittenLast) {
    int const files = static_cast<int>(ProbeCache::kFilesMax) + 1;
    for (int i = 0; i < files; ++i) {
        auto const name = fmt::format("p{}", i);
        write(name + ".json", "");
        written(name, std::chrono::hours(i));
    }
    std::vector<std::string> read;
    ProbeCache const counting(
        folder_,
        [&read](fs::path const& file) -> Result<ProbeResult> {
            read.push_back(file.stem());
            return Error{Errc::io, "not read"};
        },
        kNow_us);
    EXPECT_FALSE(counting.newest({}, kHour_s));
    ASSERT_EQ(read.size(), ProbeCache::kFilesMax);
    EXPECT_EQ(read.front(), "p0");
    EXPECT_EQ(read.back(), fmt::format("p{}", files - 2));
}

}  // namespace
}  // namespace osora::topology
