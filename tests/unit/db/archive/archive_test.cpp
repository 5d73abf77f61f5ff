// Runs go into a file and come out of it elsewhere as they were; whatever else the file is, nothing
// appears.
#include "base/files/files.hpp"
#include "db/archive/run_archive.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/queries.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace osora::db::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

/// A state folder with its history.
struct Place {
    StateDir state;
    std::unique_ptr<Store> store = std::move(*Store::open(history_file(state.path())));
    Result<Imported> import(fs::path const& file) {
        return import_runs(*store, state.path(), file);
    }
    std::vector<RunRecord> runs() {
        std::vector<RunRecord> found;
        for (auto& each : *list_runs(*store, "", 99)) found.push_back(each.run);
        return found;
    }
    /// Names of what is in STATE/runs.
    std::vector<std::string> folders() {
        std::vector<std::string> names;
        std::error_code none;
        for (auto const& each : fs::directory_iterator(state.path() / "runs", none)) {
            names.push_back(each.path().filename());
        }
        return names;
    }
};

class ArchiveTest : public testing::Test {
protected:
    ArchiveTest() {
        for (int number = 1; number <= 2; ++number) {
            RunMaker maker(static_cast<std::uint64_t>(number));
            auto const dir = write_run(
                from_.state.path(), "tiny-000" + std::to_string(number),
                journal_bytes(maker.make({.number = number, .steps = 400, .health = true})));
            write_file_atomic(dir / "run.toml", "[run]\nname = \"tiny\"\n").value();
            write_file_atomic(dir / "controller.json", "{\"token\": \"secret\"}").value();
            write_file_atomic(dir / "environment", "SECRET=1").value();
        }
        EXPECT_TRUE(ingest_all(*from_.store, from_.state.path()).has_value());
        EXPECT_TRUE(export_runs(from_.runs(), file()).has_value());
    }
    fs::path file() { return from_.state.path() / "runs.osora"; }
    /// A copy of the archive that was changed by `sql`.
    fs::path changed(std::string const& sql) {
        auto const copy = from_.state.path() / "changed.osora";
        fs::copy_file(file(), copy, fs::copy_options::overwrite_existing);
        SQLite::Database(copy.string(), SQLite::OPEN_READWRITE).exec(sql);
        return copy;
    }
    void expect_refused(fs::path const& archive, std::string const& why,
                        Errc code = Errc::invalid_input) {
        auto const result = to_.import(archive);
        ASSERT_TRUE(result.has_error()) << why;
        EXPECT_EQ(result.error().code, code) << result.error().message;
        EXPECT_THAT(result.error().message, HasSubstr(why));
        EXPECT_TRUE(to_.folders().empty());
    }
    Place from_, to_;
};

TEST_F(ArchiveTest, RunsComeOutAsTheyWere) {
    auto const imported = to_.import(file());
    ASSERT_TRUE(imported.has_value()) << imported.error().message;
    EXPECT_EQ(imported->added.size(), 2u);
    ASSERT_EQ(to_.runs().size(), 2u);
    for (auto const& run : to_.runs()) {
        auto const origin = from_.state.path() / "runs" / ("tiny-000" + std::to_string(run.number));
        for (char const* name : {"journal", "run.toml"}) {
            EXPECT_EQ(*read_file(fs::path(run.run_dir) / name), *read_file(origin / name));
        }
        EXPECT_FALSE(fs::exists(fs::path(run.run_dir) / "controller.json"));
        EXPECT_FALSE(fs::exists(fs::path(run.run_dir) / "environment"));
    }
    EXPECT_EQ(dump_steps(history_file(to_.state.path())),
              dump_steps(history_file(from_.state.path())));
    EXPECT_THAT(read_file(file())->find("secret"), std::string::npos);
}

// As versions wrote it that knew no digests.
TEST_F(ArchiveTest, SecretsStayAtHome) {
    RunMaker maker(3);
    auto records = maker.make({.number = 3, .steps = 40});
    auto& submitted = std::get<protocol::RunSubmitted>(records.front().event);
    protocol::json::object const env{
        {"API_KEY", "sekrit \"1\""}, {"PIN_TOKEN", "12"}, {"TC", "106"}};
    submitted.config = {{"worker", {{"env", env}}}};
    submitted.facts["TORCH_KEY"] = "sekrit-2";
    protocol::RankFailed failed;
    failed.tail = "login sekrit \"1\" at https://me:pass@host failed";
    records.push_back({records.back().sequence + 1, records.back().wall_us, failed});
    auto const dir = write_run(from_.state.path(), "tiny-0003", journal_bytes(records));
    auto const job = protocol::json::serialize(protocol::json::object{
        {"config", {{"worker", {{"env", env}}}}}, {"run_uuid", submitted.run_uuid}});
    write_file_atomic(dir / "job.json", job, 0600).value();
    write_file_atomic(dir / "run.toml", R"([worker]
env = { API_KEY = "sekrit \"1\"", PIN_TOKEN = '12', TC = "106", "MY.SECRET" = "sekrit/3" }
# hf_abcdefGHIJKL0123
[worker.env]
OLD_KEY = "sekrit-that---set-replaced"
LONG_TOKEN = '''
short
sekrit in lines
'''
[text]
tokenizer = "t5/spiece.model"
)",
                      0600)
        .value();
    ASSERT_TRUE(ingest_all(*from_.store, from_.state.path()).has_value());
    auto const archive = from_.state.path() / "third.osora";
    auto const record = find_run(*from_.store, "3");
    ASSERT_TRUE(record.has_value());
    auto const before = ::umask(0);
    auto const exported = export_runs({*record}, archive);
    ::umask(before);
    ASSERT_TRUE(exported.has_value()) << exported.error().message;
    EXPECT_EQ(fs::status(archive).permissions(), fs::perms(0600));
    auto const bytes = read_file(archive);
    for (char const* secret : {"sekrit", "me:pass", "hf_abc", "'12'"}) {
        EXPECT_EQ(bytes->find(secret), std::string::npos) << secret;
    }
    for (char const* kept : {"106", "t5/spiece.model", "# [redacted]"}) {
        EXPECT_NE(bytes->find(kept), std::string::npos) << kept;
    }
    auto const imported = to_.import(archive);
    ASSERT_TRUE(imported.has_value()) << imported.error().message;
    ASSERT_EQ(to_.runs().size(), 1u);
    EXPECT_EQ(*read_file(dir / "job.json"), job) << "at home nothing changes";
    for (auto const& each : fs::directory_iterator(from_.state.path())) {
        EXPECT_NE(each.path().extension(), ".tmp") << each.path();
    }
}

TEST_F(ArchiveTest, ImportsOnceAndOverwritesNothing) {
    ASSERT_TRUE(to_.import(file()).has_value());
    auto const before = dump(history_file(to_.state.path()));
    auto const again = to_.import(file());
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->added.size(), 0u);
    EXPECT_EQ(again->known.size(), 2u);
    EXPECT_EQ(dump(history_file(to_.state.path())), before);
    EXPECT_EQ(to_.folders().size(), 2u);
    // At home nothing happens either.
    EXPECT_EQ(from_.import(file())->known.size(), 2u);
    auto const exported = export_runs(from_.runs(), file());
    ASSERT_TRUE(exported.has_error());
    EXPECT_THAT(exported.error().message, HasSubstr("exists; name another file"));
}

TEST_F(ArchiveTest, TakesALiveRunUpToItsLastRecord) {
    auto const journal = from_.state.path() / "runs" / "tiny-0001" / "journal";
    auto const whole = *read_file(journal);
    std::ofstream(journal, std::ios::app | std::ios::binary) << whole.substr(16, 30);
    auto const other = from_.state.path() / "live.osora";
    ASSERT_TRUE(export_runs(from_.runs(), other).has_value());
    ASSERT_TRUE(to_.import(other).has_value());
    for (auto const& run : to_.runs()) {
        if (run.number != 1) continue;
        EXPECT_EQ(*read_file(fs::path(run.run_dir) / "journal"), whole);
    }
}

TEST_F(ArchiveTest, NamesTheRunThatCannotBeExported) {
    auto const journal = from_.state.path() / "runs" / "tiny-0001" / "journal";
    auto bytes = *read_file(journal);
    bytes[bytes.size() / 2] ^= 1;
    write_file_atomic(journal, bytes).value();
    auto const other = from_.state.path() / "bad.osora";
    auto const damaged = export_runs(from_.runs(), other);
    ASSERT_TRUE(damaged.has_error());
    EXPECT_EQ(damaged.error().code, Errc::corrupt);
    EXPECT_THAT(damaged.error().message, HasSubstr("tiny-0001"));
    fs::remove(journal);
    EXPECT_TRUE(export_runs(from_.runs(), other).has_error());
    EXPECT_FALSE(fs::exists(other));
    EXPECT_TRUE(export_runs(from_.runs(), from_.state.path() / "no" / "folder").has_error());
}

TEST_F(ArchiveTest, RefusesWhatItIsNot) {
    expect_refused(from_.state.path() / "none", "no such file", Errc::not_found);
    auto const text = from_.state.path() / "text";
    write_file_atomic(text, std::string(5000, 'x')).value();
    expect_refused(text, "not an archive");
    write_file_atomic(text, "").value();
    expect_refused(text, "not an archive");
    expect_refused(history_file(from_.state.path()), "not an archive");
    expect_refused(changed("PRAGMA user_version=2"),
                   "an archive of version 2; this osora reads version 1");
}

TEST_F(ArchiveTest, RefusesWhatNoOsoraWrites) {
    for (char const* sql :
         {"UPDATE run SET name='../../../tmp/x'", "UPDATE run SET name='a/b'",
          "UPDATE run SET name='.ssh'", "UPDATE run SET name=''",
          "UPDATE run SET uuid='../x' WHERE number=1",
          "UPDATE run SET uuid='abc-9999-0000-0000-0000-000000000000' WHERE number=1",
          "UPDATE run SET uuid='A'||substr(uuid,2)", "UPDATE run SET uuid=replace(uuid,'-','0')",
          "UPDATE run SET number=-1", "UPDATE run SET number=1<<40",
          "UPDATE file SET name='../../x' WHERE name='run.toml'",
          "UPDATE file SET name='controller.json' WHERE name='run.toml'",
          "UPDATE file SET bytes=-1", "UPDATE file SET bytes=1<<50",
          "CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT 1",
          "CREATE VIEW sqlitexautoindexxpiecex1 AS SELECT 1", "CREATE TABLE other(a)",
          "ALTER TABLE run RENAME TO run2; CREATE VIEW run AS SELECT * FROM run2"}) {
        expect_refused(changed(sql), "no osora wrote this");
    }
}

TEST_F(ArchiveTest, AnImportedRunTakesNoNameFromOneOfThisFolder) {
    // The same run may be here twice: as run 1 of this folder and as run 1 of another one.
    RunMaker maker(7);
    auto const dir =
        write_run(to_.state.path(), "tiny-0001", journal_bytes(maker.make({.number = 1})));
    ASSERT_TRUE(to_.import(file()).has_value());
    for (char const* wanted : {"1", "tiny-0001"}) {
        auto const found = find_run(*to_.store, wanted);
        ASSERT_TRUE(found.has_value()) << found.error().message;
        EXPECT_EQ(found->run_dir, dir.string()) << wanted;
        EXPECT_FALSE(is_imported(*found));
    }
    auto const other = find_run(*to_.store, "2");
    ASSERT_TRUE(other.has_value()) << other.error().message;
    EXPECT_TRUE(is_imported(*other));
    auto const series = load_series(*to_.store, other->series);
    auto const own = load_own_series(*to_.store, other->series);
    ASSERT_TRUE(series.has_value() && own.has_value());
    EXPECT_GT(series->size(), own->size());
    EXPECT_EQ(own->size(), 1u);
}

TEST_F(ArchiveTest, ALaterExportReplacesARunThatWasImportedWhileItRan) {
    RunMaker maker(3);
    auto const records = maker.make({.number = 3, .steps = 60});
    auto const exported = [&](std::size_t count, char const* name) {
        Records const part(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count));
        write_run(from_.state.path(), "tiny-0003", journal_bytes(part));
        EXPECT_TRUE(ingest_all(*from_.store, from_.state.path()).has_value());
        auto const archive = from_.state.path() / name;
        EXPECT_TRUE(export_runs({*find_run(*from_.store, "3")}, archive).has_value());
        return archive;
    };
    auto const early = exported(records.size() / 2, "early.osora");
    auto const late = exported(records.size(), "late.osora");
    auto const imported = [&](Place& place, fs::path const& archive) {
        auto const done = place.import(archive);
        EXPECT_TRUE(done.has_value()) << done.error().message;
        return std::vector{done->added.size(), done->updated.size(), done->known.size()};
    };
    EXPECT_EQ(imported(to_, early), (std::vector<std::size_t>{1, 0, 0}));
    EXPECT_FALSE(find_run(*to_.store, "3")->ended_us.has_value());
    EXPECT_EQ(imported(to_, late), (std::vector<std::size_t>{0, 1, 0}));
    auto const run = *find_run(*to_.store, "3");
    EXPECT_TRUE(run.ended_us.has_value());
    EXPECT_EQ(*read_file(fs::path(run.run_dir) / "journal"), journal_bytes(records));
    EXPECT_EQ(dump_steps(history_file(to_.state.path())), expected_steps(records));
    for (auto const& archive : {early, late}) {
        EXPECT_EQ(imported(to_, archive), (std::vector<std::size_t>{0, 0, 1}));
        EXPECT_TRUE(find_run(*to_.store, "3")->ended_us.has_value());
    }
    EXPECT_EQ(to_.folders().size(), 1u) << "nothing is left beside it";

    Place resumed;
    EXPECT_EQ(imported(resumed, early), (std::vector<std::size_t>{1, 0, 0}));
    auto const dir = fs::path(find_run(*resumed.store, "3")->run_dir);
    write_file_atomic(dir / "controller.json", "{}").value();
    EXPECT_EQ(imported(resumed, late), (std::vector<std::size_t>{0, 0, 1}));
    EXPECT_TRUE(fs::exists(dir / "controller.json"));
}

TEST_F(ArchiveTest, FindsEveryChange) {
    for (char const* sql :
         {"UPDATE piece SET content=x'00' WHERE name='run.toml'",
          "UPDATE piece SET sha256='0' WHERE name='journal'",
          "DELETE FROM piece WHERE name='run.toml'", "DELETE FROM piece WHERE name='journal'",
          "DELETE FROM file WHERE name='journal'", "DELETE FROM file WHERE name='run.toml'",
          "UPDATE run SET number=7", "UPDATE run SET sha256=''", "UPDATE run SET name='other'",
          "UPDATE piece SET ordinal=ordinal+1",
          "UPDATE file SET bytes=bytes+1 WHERE name='run.toml'"}) {
        expect_refused(changed(sql), "cut off or damaged", Errc::corrupt);
    }
    expect_refused(changed("UPDATE run SET uuid=replace(uuid,'4000','4001');"
                           "UPDATE file SET uuid=replace(uuid,'4000','4001');"
                           "UPDATE piece SET uuid=replace(uuid,'4000','4001')"),
                   "cut off or damaged", Errc::corrupt);
}

TEST_F(ArchiveTest, AnyCutOrFlippedByteBringsNothingIn) {
    auto const whole = *read_file(file());
    auto const copy = from_.state.path() / "copy.osora";
    RunMaker maker(5);
    for (int i = 0; i < 60; ++i) {
        auto bytes = whole;
        auto const at = static_cast<std::size_t>(maker.integer(0, int(whole.size()) - 1));
        bool const cut = i % 2 == 0;
        if (cut) bytes.resize(at);
        if (!cut) bytes[at] = static_cast<char>(bytes[at] ^ (1 << maker.integer(0, 7)));
        write_file_atomic(copy, bytes).value();
        auto const result = to_.import(copy);
        // A flipped bit may lie where nothing is stored, or in SQLite's own counters.
        if (!cut && result.has_value()) {
            EXPECT_EQ(dump_steps(history_file(to_.state.path())),
                      dump_steps(history_file(from_.state.path())))
                << at;
            return;
        }
        ASSERT_TRUE(result.has_error()) << at;
        EXPECT_THAT(result.error().code, AnyOf(Errc::invalid_input, Errc::corrupt));
        EXPECT_TRUE(to_.folders().empty()) << at;
    }
}

}  // namespace
}  // namespace osora::db::test
