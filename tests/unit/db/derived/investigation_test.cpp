// The files of osora bisect and osora tune in history.db: once however often they are read, and
// none is lost to a damaged neighbour.
#include "base/files/files.hpp"
#include "db/ingest/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

namespace osora::db::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// As a search between runs 1 and 2 writes it; the last trial is that of run 3.
constexpr char const* kBisect = R"({"version":1,"question":{
"good":"00000000-0000-4000-8000-000000000001","bad":"00000000-0000-4000-8000-000000000002",
"rung":"rehearsal","steps":25,"atoms":["debug.collectives","NCCL_ALGO","node set"]},"trials":[
{"flipped":"000","status":"measured","value_s":0.5,"cost_gpu_s":36,"run":""},
{"flipped":"101","status":"measured","value_s":1.0,"cost_gpu_s":72,"run":"tiny-0003"},
{"flipped":"010","status":"cannot_start","value_s":null,"cost_gpu_s":null,"run":""}])";
constexpr char const* kEnd = R"(,"ended":{"wall_us":1700000000000000,"verdict":"proved",
"relation":"single","p":0.014,"explained":0.97,"good_s":0.5,"bad_s":1.0,"culprits":[
{"item":"debug.collectives","good":"bucketed","bad":"per_parameter","share":0.97}]}})";

class Investigations : public testing::Test {
protected:
    Investigations() {
        for (int number = 1; number <= 3; ++number) {
            write_run(state_.path(), fmt::format("tiny-{:04}", number),
                      journal_bytes(RunMaker(static_cast<std::uint64_t>(number))
                                        .make({.number = number, .steps = 20})));
        }
        store_ = std::move(*Store::open(file()));
    }
    std::filesystem::path file() { return history_file(state_.path()); }
    void write(std::string const& name, std::string const& content) {
        auto const path = state_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        write_file_atomic(path, content).value();
    }
    std::vector<std::string> ingest() {
        auto const done = ingest_all(*store_, state_.path());
        EXPECT_TRUE(done.has_value()) << done.error().message;
        return done.has_value() ? done->problems : std::vector<std::string>{};
    }
    std::string ask(std::string const& sql) { return test::ask(file(), sql); }
    StateDir state_;
    std::unique_ptr<Store> store_;
};

TEST_F(Investigations, ABisectWithItsTrialsAndItsEnd) {
    write("bisects/4f2a19.json", std::string(kBisect) + kEnd);
    EXPECT_THAT(ingest(), IsEmpty());
    EXPECT_EQ(ask("SELECT run,good_run,investigation,kind,series,rung,steps,verdict,relation,p,"
                  "explained,good_s,bad_s,trials,ended_utc FROM v_investigation"),
              "2|1|4f2a19|bisect|tiny|rehearsal|25|proved|single|0.014|0.97|0.5|1.0|3|"
              "2023-11-14 22:13:20\n");
    EXPECT_EQ(ask("SELECT 3600*cost_gpu_h FROM v_investigation"), "108.0\n");
    EXPECT_EQ(ask("SELECT sequence,changed_json,status,step_s,run,name FROM v_trial"),
              "1|[]|measured|0.5||\n"
              "2|[\"debug.collectives\",\"node set\"]|measured|1.0|3|tiny-0003\n"
              "3|[\"NCCL_ALGO\"]|cannot_start|||\n");
    EXPECT_EQ(ask("SELECT run,investigation,item,good,bad,share,share_low,holds FROM v_culprit"),
              "2|4f2a19|debug.collectives|bucketed|per_parameter|0.97||1\n");
}

TEST_F(Investigations, AreReadOnceAndFollowTheirFile) {
    write("bisects/4f2a19.json", std::string(kBisect) + "}");
    ingest();
    EXPECT_EQ(ask("SELECT verdict IS NULL AND ended_us IS NULL,trials FROM v_investigation"),
              "1|3\n");
    auto const once = dump(file());
    EXPECT_THAT(ingest(), IsEmpty());
    EXPECT_EQ(dump(file()), once);
    write("bisects/4f2a19.json", std::string(kBisect) + kEnd);
    ingest();
    EXPECT_EQ(ask("SELECT verdict,trials FROM v_investigation"), "proved|3\n");
    // osora bisect --anew starts over.
    write("bisects/4f2a19.json", R"({"version":1,"question":{"atoms":["a"]},"trials":[
        {"flipped":"1","value_s":2,"run":""}]})");
    ingest();
    EXPECT_EQ(ask("SELECT verdict IS NULL,trials FROM v_investigation"), "1|1\n");
    EXPECT_EQ(ask("SELECT count(*) FROM culprit"), "0\n");
    std::filesystem::remove_all(state_.path() / "bisects");
    EXPECT_THAT(ingest(), IsEmpty());
    EXPECT_EQ(ask("SELECT count(*) FROM v_trial"), "1\n");
}

TEST_F(Investigations, ATuneAndItsSettings) {
    write("tunes/tune-00aa11.json", R"({"version":1,"kind":"tune","series":"stage1","question":{
        "rung":"rehearsal","steps":25},"trials":[
        {"changed":[],"value_s":1.0,"cost_gpu_s":10,"run":"gone-0009"},
        {"changed":["parallel.grad_bucket_mib=50"],"value_s":0.9,"cost_gpu_s":10}],
        "ended":{"wall_us":5,"verdict":"helps","culprits":[{"item":"parallel.grad_bucket_mib",
        "good":"","bad":"50","share":0.1,"low":0.05,"high":0.15,"holds":true,"reason":"10 %"},
        {"item":"parallel.overlap","good":"","bad":"false","holds":false,"reason":"fails"}]}})");
    EXPECT_THAT(ingest(), IsEmpty());
    EXPECT_EQ(ask("SELECT run,uuid,kind,series,verdict,trials FROM v_investigation"),
              "||tune|stage1|helps|2\n");
    EXPECT_EQ(ask("SELECT item,bad,share,share_low,share_high,holds,reason FROM v_culprit"),
              "parallel.grad_bucket_mib|50|0.1|0.05|0.15|1|10 %\n"
              "parallel.overlap|false||||0|fails\n");
    EXPECT_EQ(ask("SELECT sequence,run,name,changed_json FROM v_trial"),
              "1||gone-0009|[]\n2|||[\"parallel.grad_bucket_mib=50\"]\n");
}

TEST_F(Investigations, ADamagedFileIsReportedOnceAndTheRestIsRead) {
    write("bisects/4f2a19.json", std::string(kBisect) + kEnd);
    write("bisects/111111.json", std::string(kBisect));  // cut off
    write("bisects/222222.json", R"({"version":7,"question":{},"trials":[]})");
    write("bisects/333333.json", R"({"version":1,"trials":[{"value_s":"fast"}]})");
    write("bisects/444444.json", "");
    write("bisects/4f2a19.toml", "# a trial");
    write("bisects/4f2a19.lock", "");
    std::filesystem::create_directories(state_.path() / "bisects" / "folder.json");
    ASSERT_EQ(::mkfifo((state_.path() / "bisects" / "pipe.json").c_str(), 0600), 0);
    EXPECT_THAT(ingest(), ElementsAre(HasSubstr("111111.json: "), HasSubstr("version 7"),
                                      HasSubstr("trials[0].value_s"), HasSubstr("444444.json: ")));
    EXPECT_THAT(ingest(), IsEmpty());
    EXPECT_EQ(ask("SELECT investigation FROM v_investigation"), "4f2a19\n");
    write("bisects/111111.json", std::string(kBisect) + kEnd);
    EXPECT_THAT(ingest(), IsEmpty());
    EXPECT_EQ(ask("SELECT count(*) FROM v_investigation"), "2\n");
}

TEST_F(Investigations, ARebuildReadsThemAgain) {
    write("bisects/4f2a19.json", std::string(kBisect) + kEnd);
    ingest();
    auto const before = dump(file());
    store_.reset();
    ASSERT_TRUE(rebuild(state_.path()).has_value());
    EXPECT_EQ(dump(file()), before);
}

TEST_F(Investigations, ARebuildReplacesNoDatabaseThatWasKept) {
    ingest();
    store_.reset();
    std::set<std::filesystem::path> kept;
    for (int i = 0; i < 3; ++i) {  // most likely all within one second
        auto const rebuilt = rebuild(state_.path());
        ASSERT_TRUE(rebuilt.has_value());
        EXPECT_TRUE(kept.insert(rebuilt->kept).second) << rebuilt->kept;
    }
    for (auto const& each : kept) EXPECT_TRUE(std::filesystem::exists(each)) << each;
}

TEST_F(Investigations, TheControllersIngestionReadsThemToo) {
    write("bisects/4f2a19.json", std::string(kBisect) + kEnd);
    ASSERT_TRUE(ingest_run(*store_, state_.path() / "runs" / "tiny-0001").has_value());
    EXPECT_EQ(ask("SELECT count(*) FROM v_investigation"), "1\n");
}

}  // namespace
}  // namespace osora::db::test
