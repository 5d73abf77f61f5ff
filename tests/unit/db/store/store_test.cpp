#include "db/store/store.hpp"

#include "db/ingest/ingest.hpp"
#include "db/migrations/migrations.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/migrate.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <vector>

namespace osora::db::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class StoreTest : public testing::Test {
protected:
    std::filesystem::path file() { return history_file(state_.path()); }
    StateDir state_;
};

/// Runs `body` in a child; what it returns is its exit status.
pid_t in_child(std::function<int()> const& body) {
    pid_t const child = fork();
    if (child == 0) _exit(body());
    return child;
}
int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(StoreTest, AFileThatIsThereIsNotMissing) {
    constexpr int kCannotOpen = 14;  // SQLITE_CANTOPEN
    std::ofstream(file()) << "x";
    auto const side_file = database_error(file(), kCannotOpen, ENOENT, "cannot open");
    EXPECT_EQ(side_file.code, Errc::io);
    EXPECT_THAT(side_file.message, Not(HasSubstr("No such file")));
    auto const missing = database_error(state_.path() / "none.db", kCannotOpen, ENOENT, "open");
    EXPECT_EQ(missing.code, Errc::not_found);
    if (::geteuid() == 0) return;  // may write everywhere
    std::filesystem::permissions(file(), std::filesystem::perms::owner_read);
    auto const refused = database_error(file(), kCannotOpen, ENOENT, "cannot open");
    EXPECT_EQ(refused.code, Errc::io);
    EXPECT_THAT(refused.message, HasSubstr("Permission denied"));
}

TEST_F(StoreTest, UsesWalOnALocalDisk) {
    auto const store = Store::open(file());
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ((*store)->journal_mode(), "wal");
    SQLite::Database plain(file().string());
    EXPECT_EQ(plain.execAndGet("PRAGMA application_id").getInt(), 0x4f534f52);
    EXPECT_EQ(plain.execAndGet("PRAGMA user_version").getInt(), schema_version());
}

TEST_F(StoreTest, BringsAnOldDatabaseToTodaysSchema) {
    {
        SQLite::Database old(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        old.exec(k0001Runs);
        old.exec(
            "INSERT INTO series VALUES(1,'tiny','w','{}');"
            "INSERT INTO run VALUES(1,'u',1,'tiny-0001',1,'train','a','u','h','/r',1,1,1,1,1,"
            "'ok',0,'',1,1,9,3,1,0,1,1,'h','b',7,NULL,NULL,NULL,NULL);"
            "INSERT INTO run_rank VALUES(1,0,0,0,42,0,'cpu');"
            "PRAGMA application_id=1330859858; PRAGMA user_version=1");
    }
    ASSERT_TRUE(Store::open(file()).has_value());
    SQLite::Database plain(file().string());
    EXPECT_EQ(plain.execAndGet("PRAGMA user_version").getInt(), schema_version());
    EXPECT_EQ(plain.execAndGet("SELECT pid||device||'('||cpus||')' FROM run_rank").getString(),
              "42cpu()");
    EXPECT_EQ(plain.execAndGet("SELECT count(*) FROM gpu_health").getInt(), 0);
}

TEST_F(StoreTest, UsesARollbackJournalOnANetworkFileSystem) {
    { ASSERT_TRUE(Store::open(file()).has_value()); }  // was local once
    StoreOptions options;
    options.on_network = [](auto const&) { return Result<bool>(true); };
    auto const store = Store::open(file(), options);
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ((*store)->journal_mode(), "delete");
    EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal"));
}

TEST_F(StoreTest, RefusesANewerSchemaAndLeavesItAlone) {
    { ASSERT_TRUE(Store::open(file()).has_value()); }
    { SQLite::Database(file().string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=99"); }
    auto const store = Store::open(file());
    ASSERT_TRUE(store.has_error());
    EXPECT_EQ(store.error().code, Errc::invalid_input);
    EXPECT_THAT(store.error().message, HasSubstr("written by a newer osora (schema 99, this one "
                                                 "knows up to " +
                                                 std::to_string(schema_version()) + ")"));
}

TEST_F(StoreTest, RefusesTheDatabaseOfAnotherProgram) {
    {
        SQLite::Database other(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        other.exec("CREATE TABLE places(url TEXT)");
    }
    auto const store = Store::open(file());
    ASSERT_TRUE(store.has_error());
    EXPECT_EQ(store.error().code, Errc::invalid_input);
    EXPECT_THAT(store.error().message, HasSubstr("a database of another program"));
}

TEST_F(StoreTest, SaysWhatToDoWithADamagedFileAndKeepsIt) {
    std::string const garbage(10'000, 'g');
    std::ofstream(file()) << garbage;
    auto const store = Store::open(file());
    ASSERT_TRUE(store.has_error());
    EXPECT_EQ(store.error().code, Errc::corrupt);
    EXPECT_THAT(store.error().message, HasSubstr("osora history rebuild"));
    EXPECT_EQ(*read_file(file()), garbage);
}

TEST_F(StoreTest, FindsDamageInside) {
    write_run(state_.path(), "tiny-0001", journal_bytes(RunMaker(1).make({.steps = 200})));
    {
        auto const store = Store::open(file());
        ASSERT_TRUE(ingest_all(**store, state_.path()).has_value());
    }
    {
        std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(4096);
        bytes << std::string(60'000, '\x55');
    }
    write_run(state_.path(), "tiny-0002", journal_bytes(RunMaker(2).make({.number = 2})));
    auto opened = Store::open(file());
    auto const failed =
        opened.has_error() ? opened.error() : ingest_all(**opened, state_.path()).error();
    EXPECT_EQ(failed.code, Errc::corrupt) << failed.message;
}

TEST_F(StoreTest, NamesWhoHoldsTheLock) {
    { ASSERT_TRUE(Store::open(file()).has_value()); }
    write_run(state_.path(), "tiny-0001", journal_bytes(RunMaker(1).make({})));
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t const holder = in_child([&] {
        SQLite::Database other(file().string(), SQLite::OPEN_READWRITE);
        other.exec("BEGIN IMMEDIATE");
        if (write(ready[1], "y", 1) == 1) pause();
        return 1;
    });
    char got = 0;
    ASSERT_EQ(read(ready[0], &got, 1), 1);
    StoreOptions options;
    options.busy_wait = std::chrono::milliseconds(100);
    auto const store = Store::open(file(), options);
    ASSERT_TRUE(store.has_value()) << store.error().message;  // reading continues
    auto const ingested = ingest_all(**store, state_.path());
    ASSERT_TRUE(ingested.has_error());
    EXPECT_EQ(ingested.error().code, Errc::busy);
    EXPECT_THAT(ingested.error().message, HasSubstr("locked for 0.1 s"));
    EXPECT_THAT(ingested.error().message, HasSubstr("(pid " + std::to_string(holder) + ")"));
    kill(holder, SIGKILL);
    status_of(holder);
    EXPECT_TRUE(ingest_all(**store, state_.path()).has_value());
    close(ready[0]);
    close(ready[1]);
}

TEST_F(StoreTest, AReaderHoldsUpNoWriter) {
    write_run(state_.path(), "tiny-0001", journal_bytes(RunMaker(1).make({})));
    StoreOptions options;
    options.busy_wait = std::chrono::milliseconds(0);
    auto const store = Store::open(file(), options);
    ASSERT_TRUE(ingest_all(**store, state_.path()).has_value());
    SQLite::Database reader(file().string(), SQLite::OPEN_READONLY);
    reader.exec("BEGIN");
    EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM run").getInt(), 1);
    write_run(state_.path(), "tiny-0002", journal_bytes(RunMaker(2).make({.number = 2})));
    auto const ingested = ingest_all(**store, state_.path());
    ASSERT_TRUE(ingested.has_value()) << ingested.error().message;
    EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM run").getInt(), 1);  // what it began with
    reader.exec("COMMIT");
    EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM run").getInt(), 2);
}

TEST_F(StoreTest, LeavesNoLargeWalToAProgramThatLooksOn) {
    { ASSERT_TRUE(Store::open(file()).has_value()); }
    SQLite::Database reader(file().string(), SQLite::OPEN_READONLY);
    auto const rows = [&] { return reader.execAndGet("SELECT count(*) FROM run").getInt(); };
    EXPECT_EQ(rows(), 0);
    StoreOptions options;
    options.busy_wait = std::chrono::hours(1);  // who waited for the reader would never end
    auto const write = [&](int number) {
        write_run(state_.path(), "tiny-" + std::to_string(number),
                  journal_bytes(RunMaker(3).make({.number = number, .steps = 40'000})));
        auto const store = Store::open(file(), options);
        ASSERT_TRUE(ingest_all(**store, state_.path()).has_value());
        EXPECT_GT(std::filesystem::file_size(file().string() + "-wal"), 4u << 20);
    };
    write(1);
    EXPECT_EQ(std::filesystem::file_size(file().string() + "-wal"), 0u);
    EXPECT_EQ(rows(), 1);
    reader.exec("BEGIN");
    EXPECT_EQ(rows(), 1);
    write(2);
    EXPECT_GT(std::filesystem::file_size(file().string() + "-wal"), 0u);  // it is being read
    EXPECT_EQ(rows(), 1);
    reader.exec("COMMIT");
    EXPECT_EQ(rows(), 2);
}

TEST_F(StoreTest, IsMadeOnceByManyProcessesAtOnce) {
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
        children.push_back(in_child([&] {
            auto const opened = Store::open(file());
            if (opened.has_error()) std::fputs((opened.error().message + "\n").c_str(), stderr);
            return opened.has_value() ? 0 : 1;
        }));
    }
    for (pid_t const child : children) EXPECT_EQ(status_of(child), 0);
    EXPECT_TRUE(Store::open(file()).has_value());
}

// A limit on file sizes simulates a full disk.
TEST_F(StoreTest, AFullDiskIsSaidAndMadeUpForLater) {
    auto const bytes = journal_bytes(RunMaker(3).make({.steps = 2000}));
    auto const run = write_run(state_.path(), "tiny-0001", bytes);
    pid_t const child = in_child([&] {
        signal(SIGXFSZ, SIG_IGN);
        rlimit const limit{400'000, 400'000};
        setrlimit(RLIMIT_FSIZE, &limit);
        auto const store = Store::open(file());
        if (store.has_error()) return 1;
        auto const ingested = ingest_all(**store, state_.path(), {.piece_bytes = 50'000});
        if (ingested.has_value()) return 2;
        return ingested.error().code == Errc::out_of_space ? 0 : 3;
    });
    EXPECT_EQ(status_of(child), 0);
    EXPECT_EQ(*read_file(run / "journal"), bytes);
    auto const store = Store::open(file());
    ASSERT_TRUE(store.has_value()) << store.error().message;
    auto const ingested = ingest_all(**store, state_.path());
    ASSERT_TRUE(ingested.has_value()) << ingested.error().message;
    StateDir fresh;
    write_run(fresh.path(), "tiny-0001", bytes);
    auto const other = Store::open(history_file(fresh.path()));
    ASSERT_TRUE(ingest_all(**other, fresh.path()).has_value());
    EXPECT_EQ(dump_steps(file()), dump_steps(history_file(fresh.path())));
}

TEST_F(StoreTest, SaysWhenTheFolderIsMissing) {
    auto const store = Store::open(state_.path() / "none" / "history.db");
    ASSERT_TRUE(store.has_error());
    EXPECT_THAT(store.error().message, HasSubstr("history.db"));
}

TEST_F(StoreTest, WorksInMemory) {
    write_run(state_.path(), "tiny-0001", journal_bytes(RunMaker(1).make({})));
    auto const store = Store::in_memory();
    ASSERT_TRUE(store.has_value()) << store.error().message;
    auto const ingested = ingest_all(**store, state_.path());
    ASSERT_TRUE(ingested.has_value());
    EXPECT_EQ(ingested->changed, 1);
    EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace osora::db::test
