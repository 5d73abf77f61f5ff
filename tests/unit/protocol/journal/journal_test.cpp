#include "protocol/journal/journal.hpp"

#include "base/files/compression.hpp"

#include <gtest/gtest.h>
#include <boost/crc.hpp>

#include <algorithm>

namespace osora::protocol {
namespace {

std::string notice(std::uint64_t sequence, std::string detail) {
    RunNotice event;
    event.detail = std::move(detail);
    return *encode_record({sequence, 7, event});
}

std::string measurement(std::uint64_t sequence, std::string why) {
    NodeHealth event;
    event.why = std::move(why);
    return *encode_record({sequence, 7, event});
}

/// `body` as a record.
std::string framed(std::string const& body) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(body.data(), body.size());
    std::string bytes;
    for (std::uint32_t const number : {static_cast<std::uint32_t>(body.size()), crc.checksum()}) {
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
    }
    return bytes + body;
}

std::string journal_of(int records) {
    std::string bytes(kJournalHeader);
    for (int i = 0; i < records; ++i) {
        bytes += notice(static_cast<std::uint64_t>(i),
                        std::string(static_cast<std::size_t>(i * 7), 'x'));
    }
    return bytes;
}

/// "" when it can be read; else the message.
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
    EXPECT_EQ(error_of(kPlainJournalHeader.substr(0, 14)), "");
    EXPECT_EQ(error_of("osora journal 3\n"), "journal, offset 0: not a journal of this version");
}

// Every single damaged byte of every record but the last is found: as a wrong checksum or length at
// once, or, where the length now points beyond the end, by finish().
void expect_all_damage_found(std::string const& whole, std::size_t last) {
    for (std::size_t at = kJournalHeader.size(); at < last; ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
            EXPECT_NE(error_of(bytes), "") << "byte " << at << " bit " << bit;
        }
    }
}

TEST(Journal, DamageInTheMiddleIsCorruption) {
    expect_all_damage_found(journal_of(4), journal_of(3).size());
}

TEST(Journal, DamageBetweenCompressedRecordsIsCorruption) {
    std::string whole(kJournalHeader);
    std::size_t last = 0;
    for (std::uint64_t i = 0; i < 3; ++i) {
        last = whole.size();
        whole += measurement(i, std::string(400 + i, 'x'));
    }
    ASSERT_EQ(whole.substr(last + 8, 4), kZstdMagic);
    expect_all_damage_found(whole, last);
}

TEST(Journal, MeasurementsAreCompressedAndReadBack) {
    std::string why;
    for (int i = 0; i < 1000; ++i) why += std::to_string(i * i) + ",";
    std::string const record = measurement(0, why);
    EXPECT_LT(record.size(), why.size() / 2);
    auto const read = JournalReader().feed(std::string(kJournalHeader) + record);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(std::get<NodeHealth>(read->at(0).event).why, why);
    EXPECT_GT(notice(0, why).size(), 5000u) << "decisions stay readable as text";
}

/// A frame of a few hundred bytes that would become a megabyte is neither written nor read.
TEST(Journal, RecordsThatExpandWithoutBoundAreRefused) {
    std::string const plain = measurement(0, std::string(1 << 20, 'x'));
    EXPECT_GT(plain.size(), 1u << 20);
    EXPECT_EQ(error_of(std::string(kJournalHeader) + plain), "");
    std::string const frame = compress(plain.substr(8));
    ASSERT_LT(frame.size(), 4096u);
    EXPECT_NE(error_of(std::string(kJournalHeader) + framed(frame)), "");
    std::string const fair = compress(notice(0, "").substr(8));
    EXPECT_EQ(error_of(std::string(kJournalHeader) + framed(fair)), "");
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
    // The checksum from another implementation (Python, tests/data/protocol/make_golden.py).
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
