#include "protocol/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::protocol {
namespace {

std::string notice(std::uint64_t sequence, std::string detail) {
    RunNotice event;
    event.detail = std::move(detail);
    return *encode_record({sequence, 7, event});
}

std::string journal_of(int records) {
    std::string bytes(kJournalHeader);
    for (int i = 0; i < records; ++i) {
        bytes += notice(static_cast<std::uint64_t>(i),
                        std::string(static_cast<std::size_t>(i * 7), 'x'));
    }
    return bytes;
}

/// "" when it reads; else the message.
std::string error_of(std::string_view bytes) {
    JournalReader reader;
    auto const read = reader.feed(bytes);
    if (read.has_error()) return read.error().message;
    auto const end = reader.finish();
    return end.has_error() ? end.error().message : "";
}

TEST(Journal, SameRecordsHoweverTheBytesArrive) {
    std::string const bytes = journal_of(20);
    for (std::size_t cut : {1u, 2u, 7u, 8u, 9u, 100u, 100'000u}) {
        JournalReader reader;
        std::size_t count = 0;
        for (std::size_t at = 0; at < bytes.size(); at += cut) {
            auto const records = reader.feed(std::string_view(bytes).substr(at, cut));
            ASSERT_TRUE(records.has_value()) << records.error().message;
            for (JournalRecord const& each : *records) EXPECT_EQ(each.sequence, count++);
        }
        EXPECT_EQ(count, 20u) << "cut into " << cut;
        EXPECT_EQ(reader.good_bytes(), bytes.size());
        EXPECT_EQ(reader.pending_bytes(), 0u);
    }
}

TEST(Journal, TornAnywhereLosesOnlyTheLastRecord) {
    std::string const whole = journal_of(3);
    std::size_t const last = journal_of(2).size();
    for (std::size_t size = last; size < whole.size(); ++size) {
        for (std::size_t zeros : {0u, 1u, 30u, 300u}) {
            std::string const torn = whole.substr(0, size) + std::string(zeros, '\0');
            JournalReader reader;
            auto const records = reader.feed(torn);
            ASSERT_TRUE(records.has_value()) << size << ' ' << records.error().message;
            EXPECT_EQ(records->size(), 2u);
            EXPECT_EQ(reader.good_bytes(), last);
            EXPECT_FALSE(reader.finish().has_error());
        }
    }
}

TEST(Journal, TornBeforeTheFirstRecord) {
    for (std::size_t size = 0; size <= kJournalHeader.size(); ++size) {
        EXPECT_EQ(error_of(kJournalHeader.substr(0, size)), "");
    }
    EXPECT_EQ(error_of(std::string(50, '\0')), "");
    EXPECT_EQ(error_of("osora journal 2\n"), "journal, offset 0: not a journal of this version");
}

// Every single damaged byte of every record but the last is found: as a wrong checksum or length at
// once, or, where the length now points beyond the end, by finish().
TEST(Journal, DamageInTheMiddleIsCorruption) {
    std::string const whole = journal_of(4);
    std::size_t const last = journal_of(3).size();
    for (std::size_t at = kJournalHeader.size(); at < last; ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
            EXPECT_NE(error_of(bytes), "") << "byte " << at << " bit " << bit;
        }
    }
}

TEST(Journal, GapsAndRepeatsAreCorruption) {
    std::string const start(kJournalHeader);
    EXPECT_EQ(error_of(start + notice(0, "") + notice(2, "")),
              "journal, offset " + std::to_string(start.size() + notice(0, "").size()) +
                  ": record 2 where 1 was due");
    EXPECT_NE(error_of(start + notice(0, "") + notice(0, "")), "");
    EXPECT_NE(error_of(start + notice(1, "")), "");
}

TEST(Journal, RecordsOfLaterVersionsAreLeftOut) {
    std::string body = R"({"seq":1,"wall_us":5,"type":"from_the_future","x":1})";
    // The checksum as another implementation gives it (Python, tests/data/protocol/make_golden.py).
    std::string const record = std::string("\0\0\0\x34\x82\xdd\x4c\xf0", 8) + body;
    JournalReader reader;
    auto const records =
        reader.feed(std::string(kJournalHeader) + notice(0, "") + record + notice(2, ""));
    ASSERT_TRUE(records.has_value()) << records.error().message;
    EXPECT_EQ(records->size(), 2u);
    EXPECT_EQ(reader.next_sequence(), 3u);
}

TEST(Journal, RefusesRecordsOverTheLimit) {
    RunNotice event;
    event.detail = std::string(kJournalRecordBytesMax, 'x');
    EXPECT_TRUE(encode_record({0, 0, event}).has_error());
}

}  // namespace
}  // namespace osora::protocol
