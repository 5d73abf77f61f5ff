// Steps for other programs: which ranks and attempts count, and the bytes of event files. The bytes
// of one file are compared with TensorBoard's reader by history_steps_test.py.
#include "cli/history/step_series.hpp"

#include "base/crc32c.hpp"
#include "cli/history/event_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

protocol::JournalRecord record(double wall_s, protocol::RunEvent event) {
    return {0, static_cast<std::int64_t>(wall_s * 1e6), std::move(event)};
}

/// Steps [first, first + losses.size()) of 2 s over `ranks` ranks.
protocol::MergedSteps steps(int attempt, int first, int ranks, std::vector<double> losses) {
    protocol::MergedSteps steps;
    steps.attempt = attempt;
    steps.step0 = first;
    auto const n = losses.size();
    std::vector<double> const two(n, 2.0);
    std::vector<int> const rank(n, 0);
    steps.ranks.assign(n, ranks);
    steps.samples.assign(n, 4 * ranks);
    steps.bucket.assign(n, "64x64x8");
    steps.columns["loss"] = {losses, losses, losses, rank};
    steps.columns["step_time_s"] = {two, two, two, rank};
    return steps;
}

TEST(StepSeries, StepsOfOneRecordAreSpreadByTheirTimes) {
    StepSeries series;
    series.take(record(100, steps(0, 0, 2, {3, 2, 1})));
    ASSERT_EQ(series.rows().size(), 3u);
    EXPECT_DOUBLE_EQ(series.rows().at(0).wall_s, 96);
    EXPECT_DOUBLE_EQ(series.rows().at(2).wall_s, 100);
    EXPECT_DOUBLE_EQ(series.rows().at(0).samples_per_s(), 4);
    EXPECT_DOUBLE_EQ(series.rows().at(1).figures[0].value, 2);
}

TEST(StepSeries, ARecordThatComesSoonBeginsAfterTheOneBefore) {
    StepSeries series;
    series.take(record(100, steps(0, 0, 2, {3})));
    series.take(record(103, steps(0, 1, 2, {2, 1, 1})));
    EXPECT_DOUBLE_EQ(series.rows().at(1).wall_s, 100);
    EXPECT_DOUBLE_EQ(series.rows().at(2).wall_s, 101);
    EXPECT_DOUBLE_EQ(series.rows().at(3).wall_s, 103);
}

TEST(StepSeries, RanksOfLaterRecordsAreMerged) {
    StepSeries series;
    series.take(record(100, steps(0, 0, 3, {1})));
    series.take(record(101, steps(0, 0, 1, {5})));
    auto const& row = series.rows().at(0);
    EXPECT_EQ(row.ranks, 4);
    EXPECT_EQ(row.samples, 16);
    EXPECT_DOUBLE_EQ(row.figures[0].value, 2);
    EXPECT_DOUBLE_EQ(row.wall_s, 100);
}

TEST(StepSeries, TheLastAttemptCounts) {
    StepSeries series;
    series.take(record(100, steps(0, 0, 2, {1, 1, 1})));
    series.take(record(200, steps(1, 1, 2, {9})));
    series.take(record(201, steps(0, 1, 2, {7})));  // late
    EXPECT_DOUBLE_EQ(series.rows().at(1).figures[0].value, 9);
    EXPECT_EQ(series.rows().at(1).ranks, 2);
    EXPECT_DOUBLE_EQ(series.rows().at(2).figures[0].value, 1);
}

TEST(StepSeries, AsCsv) {
    StepSeries series;
    series.take(record(100.5, steps(0, 7, 2, {0.25})));
    auto const header = csv_header(), rows = csv_rows(series, 3, "a,b");
    EXPECT_THAT(header, testing::StartsWith("run,name,step,attempt,wall_s,bucket,ranks,samples,"
                                            "samples_per_s,loss,lr,"));
    EXPECT_EQ(rows, "3,\"a,b\",7,0,100.500000,64x64x8,2,8,4,0.25,,,2,,,,,,,,\n");
    EXPECT_EQ(std::ranges::count(header, ','), std::ranges::count(rows, ',') - 1) << "one quoted";
}

TEST(StepSeries, DamagedRecordsAddNothing) {
    StepSeries series;
    auto bad = steps(0, 0, 2, {1, 2});
    bad.ranks.clear();
    series.take(record(100, bad));
    EXPECT_TRUE(series.rows().empty());
    EXPECT_THAT(event_file(series), HasSubstr("brain.Event:2"));
}

TEST(EventFile, Crc32cOfThePublishedVectors) {
    // RFC 3720, B.4.
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST(EventFile, BytesOfTheFirstRecord) {
    // As TensorFlow writes it: length 24 and its masked checksum, wall time 0, the version.
    auto const start = event_file_start(0);
    EXPECT_EQ(start.size(), 8u + 4 + 24 + 4);
    EXPECT_EQ(start.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
    EXPECT_EQ(start.substr(8, 4), "\xa3\x7f\x4b\x22");
    EXPECT_EQ(start.substr(12, 9), std::string("\x09\0\0\0\0\0\0\0\0", 9));
    EXPECT_EQ(start.substr(21, 15),
              "\x1a\x0d"
              "brain.Event:2");
}

TEST(EventFile, LargeStepsAreVarints) {
    auto const event = scalar_event(300, 0, {{"a", 1}});
    EXPECT_THAT(event, HasSubstr(std::string("\x10\xac\x02\x2a", 4)));
    EXPECT_THAT(event, HasSubstr(std::string("\x0a\x01"
                                             "a\x15\0\0\x80\x3f",
                                             8)));
}

}  // namespace
}  // namespace osora::cli
