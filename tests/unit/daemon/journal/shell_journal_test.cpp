// The journal on real files and on files whose k-th operation fails: a reader always finds a whole
// journal afterwards, with everything that was durable.
#include "base/files/files.hpp"
#include "daemon/controller/run_lock.hpp"
#include "daemon/journal/journal_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>

namespace osora::daemon {
namespace {

using protocol::JournalRecord;
using protocol::MetricChunk;
using protocol::RunEnded;
using protocol::RunNotice;
using testing::HasSubstr;

/// A disk with a size, in memory; it can be made to fail.
struct FakeDisk {
    std::string content;
    std::uint64_t capacity_bytes = 10 << 20;
    std::uint64_t reserved_until = 0;
    bool can_reserve = true;
    int operations = 0;
    int fail_at = -1;  // the number of the operation that fails
    int error = ENOSPC;
    bool cuts_power = false;  // and nothing works after it
    bool failing = false;     // from then on truncate fails too
    bool dead = false;        // the power went at fail_at
    std::size_t durable = 0;
};

class FakeFile final : public AppendFile {
public:
    explicit FakeFile(FakeDisk& disk) : disk_(disk) {}
    std::uint64_t size() const override { return disk_.content.size(); }
    Result<std::string> read(std::uint64_t offset, std::size_t bytes) override {
        return disk_.content.substr(offset, std::min<std::size_t>(bytes, 7));
    }
    Result<void> append(std::string_view bytes) override {
        bool const fails = is_due();
        if (disk_.dead && !fails) return file_error(EIO, "write", "journal");
        std::uint64_t const end = disk_.content.size() + bytes.size();
        if (fails || end > std::max(disk_.capacity_bytes, disk_.reserved_until)) {
            disk_.content += bytes.substr(0, bytes.size() / 2);
            return file_error(fails ? disk_.error : ENOSPC, "write", "journal");
        }
        disk_.content += bytes;
        return {};
    }
    Result<void> truncate(std::uint64_t size) override {
        if (is_due() || disk_.failing || disk_.dead) return file_error(EIO, "truncate", "journal");
        disk_.content.resize(size);
        disk_.durable = std::min<std::size_t>(disk_.durable, size);
        return {};
    }
    Result<void> sync() override {
        if (is_due() || disk_.dead) return file_error(disk_.error, "sync", "journal");
        disk_.durable = disk_.content.size();
        return {};
    }
    Result<bool> reserve(std::uint64_t size) override {
        if (is_due()) return file_error(disk_.error, "reserve", "journal");
        if (!disk_.can_reserve) return false;
        if (size > disk_.capacity_bytes) return file_error(ENOSPC, "reserve", "journal");
        disk_.reserved_until = std::max(disk_.reserved_until, size);
        return true;
    }

private:
    bool is_due() {
        bool const due = disk_.operations++ == disk_.fail_at;
        disk_.dead = disk_.dead || (due && disk_.cuts_power);
        return due;
    }
    FakeDisk& disk_;
};

JournalRecord notice(std::string detail) {
    RunNotice event;
    event.detail = std::move(detail);
    return {.sequence = 0, .wall_us = 5, .event = std::move(event)};
}

JournalRecord metrics() {
    MetricChunk chunk;
    chunk.bucket.assign(200, "64x64x8");
    return {.sequence = 0, .wall_us = 1, .event = std::move(chunk)};
}

JournalRecord end_of_run() {
    RunEnded event;
    event.exit_code = 1;
    return {.sequence = 0, .wall_us = 2, .event = std::move(event)};
}

std::vector<JournalRecord> read_all(std::string const& content) {
    protocol::JournalReader reader;
    auto records = reader.feed(content);
    EXPECT_TRUE(records.has_value()) << records.error().message;
    EXPECT_EQ(reader.pending_bytes(), 0u);
    return *records;
}

std::vector<std::string> details(std::vector<JournalRecord> const& records) {
    std::vector<std::string> texts;
    for (auto const& each : records) texts.push_back(std::get<RunNotice>(each.event).detail);
    return texts;
}

class OnDisk : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "osora-journal-XXXXXX";
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    JournalFile::Opened open() {
        auto file = open_append_file(path());
        EXPECT_TRUE(file.has_value());
        auto opened = JournalFile::open(std::move(*file));
        EXPECT_TRUE(opened.has_value()) << opened.error().message;
        return std::move(*opened);
    }
    std::filesystem::path path() const { return std::filesystem::path(folder_) / "journal"; }

    std::string folder_;
};

TEST_F(OnDisk, RecordsAreNumberedAndReadBack) {
    {
        auto const opened = open();
        EXPECT_TRUE(opened.records.empty());
        ASSERT_TRUE(opened.journal->append(notice("a"), Importance::decision).has_value());
        ASSERT_TRUE(opened.journal->append(notice("b"), Importance::metric).has_value());
        ASSERT_TRUE(opened.journal->sync().has_value());
    }
    auto const again = open();
    EXPECT_THAT(details(again.records), testing::ElementsAre("a", "b"));
    EXPECT_EQ(again.records[1].sequence, 1u);
    EXPECT_EQ(again.journal->next_sequence(), 2u);
}

TEST_F(OnDisk, OldMetricsAreNotKeptInMemory) {
    protocol::MetricChunk chunk;
    {
        auto const opened = open();
        ASSERT_TRUE(opened.journal->append(notice("first"), Importance::decision).has_value());
        for (chunk.step0 = 0; chunk.step0 < 6000; ++chunk.step0) {
            ASSERT_TRUE(opened.journal->append({0, 1, chunk}, Importance::metric).has_value());
        }
    }
    auto const opened = open();
    ASSERT_EQ(opened.records.size(), 1u + 4096u);
    EXPECT_EQ(opened.records[0].sequence, 0u);
    EXPECT_EQ(std::get<protocol::MetricChunk>(opened.records[1].event).step0, 6000 - 4096);
    EXPECT_EQ(std::get<protocol::MetricChunk>(opened.records.back().event).step0, 5999);
    EXPECT_EQ(opened.journal->next_sequence(), 6001u);
}

TEST_F(OnDisk, AJournalOfAnOlderVersionContinuesUnchanged) {
    protocol::NodeHealth health;
    health.why = std::string(1000, 'x');
    std::ofstream(path(), std::ios::binary) << protocol::kPlainJournalHeader;
    {
        auto const opened = open();
        ASSERT_TRUE(opened.journal->append({0, 1, health}, Importance::metric).has_value());
    }
    ASSERT_TRUE(open().journal->append({0, 1, health}, Importance::metric).has_value());
    std::string const content = *read_file(path());
    EXPECT_EQ(read_all(content).size(), 2u);
    EXPECT_GT(content.size(), 2000u) << "older readers know no compressed records";
    EXPECT_TRUE(content.starts_with(protocol::kPlainJournalHeader));
}

TEST_F(OnDisk, TheReserveIsGivenBackAtTheEnd) {
    open();
    std::filesystem::path const file = path();
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 32 << 10);
}

TEST_F(OnDisk, EveryTornTailIsCutOff) {
    {
        auto const opened = open();
        ASSERT_TRUE(opened.journal->append(notice("kept"), Importance::decision).has_value());
        ASSERT_TRUE(opened.journal->append(notice("torn"), Importance::decision).has_value());
    }
    std::string const whole = *read_file(path());
    std::size_t const first_end = [&] {
        protocol::JournalReader reader;
        for (std::size_t i = 0; i < whole.size(); ++i) {
            if (!reader.feed(whole.substr(i, 1))->empty()) return i + 1;
        }
        return std::size_t{0};
    }();
    for (std::size_t length = first_end; length < whole.size(); ++length) {
        std::ofstream(path(), std::ios::binary | std::ios::trunc) << whole.substr(0, length);
        auto const opened = open();
        EXPECT_THAT(details(opened.records), testing::ElementsAre("kept"));
        EXPECT_EQ(opened.dropped_bytes, length - first_end);
        ASSERT_TRUE(opened.journal->append(notice("next"), Importance::decision).has_value());
        EXPECT_THAT(details(read_all(*read_file(path()))), testing::ElementsAre("kept", "next"));
    }
}

TEST_F(OnDisk, ADamagedMiddleIsAnErrorAndTheFileStays) {
    {
        auto const opened = open();
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(opened.journal->append(notice("x"), Importance::decision).has_value());
        }
    }
    std::string content = *read_file(path());
    content[protocol::kJournalHeader.size() + 12] ^= 1;
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << content;
    auto const opened = JournalFile::open(std::move(*open_append_file(path())));
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, Errc::corrupt);
    EXPECT_EQ(*read_file(path()), content);
}

TEST_F(OnDisk, AFullDeviceIsOutOfSpace) {
    auto file = open_append_file("/dev/full");
    EXPECT_TRUE(file.has_error());  // no regular file
}

/// Appends and syncs until something fails or 40 records are written; returns how many were
/// durable.
int write_some(JournalFile& journal) {
    int durable = 0, appended = 0;
    for (int i = 0; i < 40; ++i) {
        if (journal.append(notice(std::to_string(i)), Importance::decision).has_value()) ++appended;
        if (i % 4 == 3 && journal.sync().has_value()) durable = appended;
    }
    return durable;
}

TEST(Journal, WhateverOperationFailsTheFileStaysWhole) {
    for (int const error : {ENOSPC, EIO}) {
        for (int k = 0; k < 70; ++k) {
            FakeDisk disk;
            disk.fail_at = k;
            disk.error = error;
            auto opened = JournalFile::open(std::make_unique<FakeFile>(disk));
            if (opened.has_error()) continue;
            int const durable = write_some(*opened->journal);
            opened->journal.reset();
            disk.fail_at = -1;
            auto const again = JournalFile::open(std::make_unique<FakeFile>(disk));
            ASSERT_TRUE(again.has_value()) << "operation " << k << ": " << again.error().message;
            EXPECT_GE(static_cast<int>(again->records.size()), durable) << "operation " << k;
            EXPECT_EQ(again->dropped_bytes, 0u) << "operation " << k;
        }
    }
}

// Of what was not synced a part remains, cut anywhere, or zeros where its length was kept.
TEST(Journal, WheneverThePowerFailsSyncedRecordsStay) {
    for (int k = 0; k < 70; ++k) {
        for (int left = 0; left <= 8; ++left) {
            FakeDisk disk;
            disk.fail_at = k;
            disk.error = EIO;
            disk.cuts_power = true;
            int durable = 0;
            {
                auto opened = JournalFile::open(std::make_unique<FakeFile>(disk));
                if (opened.has_value()) durable = write_some(*opened->journal);
            }
            std::size_t const loose = disk.content.size() - disk.durable;
            std::size_t const kept = disk.durable + loose * static_cast<std::size_t>(left) / 8;
            disk.content.resize(kept);
            if (left % 2 == 1) disk.content.resize(kept + 40, '\0');
            disk.fail_at = -1;
            disk.dead = false;
            auto const again = JournalFile::open(std::make_unique<FakeFile>(disk));
            ASSERT_TRUE(again.has_value())
                << "operation " << k << ", " << left << "/8: " << again.error().message;
            EXPECT_GE(static_cast<int>(again->records.size()), durable) << "operation " << k;
            EXPECT_TRUE(again->journal->append(notice("on"), Importance::decision).has_value());
            EXPECT_TRUE(again->journal->sync().has_value());
        }
    }
}

TEST(Journal, AfterAFailedSyncNothingIsWritten) {
    FakeDisk disk;
    auto opened = JournalFile::open(std::make_unique<FakeFile>(disk));
    ASSERT_TRUE(opened.has_value());
    disk.fail_at = disk.operations;
    disk.error = EIO;
    EXPECT_TRUE(opened->journal->sync().has_error());
    auto const size = disk.content.size();
    EXPECT_TRUE(opened->journal->append(notice("x"), Importance::final_record).has_error());
    EXPECT_TRUE(opened->journal->sync().has_error());
    EXPECT_EQ(disk.content.size(), size);
}

TEST(Journal, AFileThatCannotBeTruncatedIsLeftAlone) {
    FakeDisk disk;
    auto opened = JournalFile::open(std::make_unique<FakeFile>(disk));
    ASSERT_TRUE(opened.has_value());
    disk.fail_at = disk.operations;
    disk.failing = true;
    EXPECT_TRUE(opened->journal->append(notice("x"), Importance::decision).has_error());
    auto const size = disk.content.size();
    EXPECT_TRUE(opened->journal->append(notice("y"), Importance::final_record).has_error());
    EXPECT_EQ(disk.content.size(), size);
}

TEST(Journal, AFullDiskStopsMetricsThenDecisionsAndTheEndStillFits) {
    FakeDisk disk;
    disk.capacity_bytes = 600 << 10;
    auto opened = JournalFile::open(std::make_unique<FakeFile>(disk));
    ASSERT_TRUE(opened.has_value());
    JournalFile& journal = *opened->journal;
    Result<void> last;
    int chunks = 0;
    while (last.has_value() && chunks < 10'000) {
        last = journal.append(metrics(), Importance::metric);
        ++chunks;
    }
    ASSERT_TRUE(last.has_error());
    EXPECT_EQ(last.error().code, Errc::out_of_space);
    int decisions = 0;
    last = {};
    while (last.has_value() && decisions < 10'000) {
        last = journal.append(notice(std::string(1000, 'd')), Importance::decision);
        ++decisions;
    }
    ASSERT_TRUE(last.has_error());
    EXPECT_EQ(last.error().code, Errc::out_of_space);
    EXPECT_GT(decisions, 80);
    EXPECT_TRUE(journal.append(end_of_run(), Importance::final_record).has_value());
    auto const records = read_all(disk.content);
    EXPECT_EQ(std::get<RunEnded>(records.back().event).exit_code, 1);
    EXPECT_EQ(static_cast<int>(records.size()), chunks - 1 + decisions - 1 + 1);
}

TEST(Journal, WithoutReservesItWritesUntilTheDiskIsFull) {
    FakeDisk disk;
    disk.can_reserve = false;
    disk.capacity_bytes = 4096;
    auto opened = JournalFile::open(std::make_unique<FakeFile>(disk));
    ASSERT_TRUE(opened.has_value());
    Result<void> last;
    while (last.has_value()) last = opened->journal->append(notice("x"), Importance::metric);
    EXPECT_EQ(last.error().code, Errc::out_of_space);
    EXPECT_GT(read_all(disk.content).size(), 10u);
}

TEST(Journal, ADiskThatIsFullAtTheStartRefusesTheRun) {
    FakeDisk disk;
    disk.capacity_bytes = 64 << 10;
    auto const opened = JournalFile::open(std::make_unique<FakeFile>(disk));
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, Errc::out_of_space);
}

TEST_F(OnDisk, ASecondControllerIsRefusedAndTheFirstNamed) {
    protocol::RunPaths const paths{folder_};
    {
        auto const first = RunLock::take(paths);
        ASSERT_TRUE(first.has_value());
        auto const second = RunLock::take(paths);
        ASSERT_TRUE(second.has_error());
        EXPECT_EQ(second.error().code, Errc::busy);
        EXPECT_THAT(second.error().message,
                    HasSubstr("already has a controller: process " + std::to_string(::getpid())));
    }
    EXPECT_TRUE(RunLock::take(paths).has_value());
}

}  // namespace
}  // namespace osora::daemon
