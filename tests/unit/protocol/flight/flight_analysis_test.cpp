// Sets of dumps as ranks write them, and ones that no rank would write.
#include "protocol/flight/flight_analysis.hpp"

#include "base/files/files.hpp"
#include "protocol/flight/flight_files.hpp"
#include "protocol/json.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace osora::protocol {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using enum CollectiveState;

/// What a rank did, one collective after the other; times grow by 10 us.
class Rank {
public:
    Rank(int rank, int world_size) {
        dump_.rank = rank;
        dump_.world_size = world_size;
        dump_.step = 7;
        dump_.phase = "step";
    }
    Rank& did(std::string const& channel, std::vector<int> const& ranks, FlightRecord record) {
        auto found = std::ranges::find(dump_.channels, channel, &FlightChannel::name);
        if (found == dump_.channels.end())
            found = dump_.channels.insert(found, {channel, ranks, 0, 0});
        record.channel = static_cast<int>(found - dump_.channels.begin());
        record.sequence = ++found->started;
        record.step = dump_.step;
        record.started_us = now_us_ += 10;
        if (record.state != started) record.ended_us = record.started_us + 5;
        if (record.state == finished) found->finished = record.sequence;
        dump_.records.push_back(std::move(record));
        return *this;
    }
    Rank& all(std::string const& operation, CollectiveState state, std::int64_t bytes = 64) {
        std::vector<int> ranks(static_cast<std::size_t>(dump_.world_size));
        for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
        return did("all gloo", ranks, made(operation, state, bytes));
    }
    static FlightRecord made(std::string operation, CollectiveState state,
                             std::int64_t bytes = 64) {
        FlightRecord record;
        record.operation = std::move(operation);
        record.label = "gradients";
        record.bytes = bytes;
        record.dtype = "Float";
        record.state = state;
        return record;
    }
    operator FlightDump const&() const { return dump_; }

private:
    FlightDump dump_;
    std::int64_t now_us_ = 0;
};

std::string said(std::vector<FlightDump> const& dumps) {
    auto const finding = find_stall(dumps);
    return finding ? describe(*finding) : "";
}

TEST(FlightAnalysis, ARankThatLagsIsNamedWithItsLastCollective) {
    std::vector<FlightDump> dumps;
    for (int rank = 0; rank < 8; ++rank) {
        Rank made(rank, 8);
        made.all("all_reduce", finished).all("all_gather", finished);
        if (rank != 3) made.all("reduce_scatter", failed);
        dumps.push_back(made);
    }
    EXPECT_EQ(said(dumps),
              "rank 3 did not reach gradients reduce_scatter #3 of all gloo in step 7 (started by "
              "ranks 0-2, 4-7); last finished gradients all_gather #2 of all gloo in step 7 (phase "
              "'step', step 7)");
    std::ranges::reverse(dumps);
    EXPECT_THAT(find_stall(dumps)->culprits, ElementsAre(3));
}

TEST(FlightAnalysis, ARankWithoutARecordIsMissing) {
    std::vector<FlightDump> const dumps{Rank(0, 3).all("all_reduce", failed),
                                        Rank(1, 3).all("all_reduce", started)};
    EXPECT_EQ(said(dumps),
              "rank 2 gave no sign: gradients all_reduce #1 of all gloo in step 7 (started by "
              "ranks 0-1) waits for it");
    EXPECT_EQ(find_stall(dumps)->kind, Stall::missing);
}

TEST(FlightAnalysis, ARankThatWaitsElsewhereIsFollowed) {
    // 0 and 1 share layers, 2 and 3 as well; 3 is missing, 2 waits for it, 0 and 1 for 2.
    auto const wait = Rank::made("all_to_all", failed);
    std::vector<FlightDump> const dumps{
        Rank(0, 4)
            .did("linears/0 gloo", {0, 1}, Rank::made("all_to_all", finished))
            .all("all_reduce", failed),
        Rank(1, 4)
            .did("linears/0 gloo", {0, 1}, Rank::made("all_to_all", finished))
            .all("all_reduce", failed),
        Rank(2, 4).did("linears/2 gloo", {2, 3}, wait)};
    auto const finding = find_stall(dumps);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->kind, Stall::missing);
    EXPECT_THAT(finding->culprits, ElementsAre(3));
}

TEST(FlightAnalysis, AnotherOperationOrSizeAtTheSamePlaceIsAMismatch) {
    std::vector<FlightDump> dumps{Rank(0, 3).all("all_reduce", failed),
                                  Rank(1, 3).all("all_reduce", failed, 128),
                                  Rank(2, 3).all("all_reduce", failed)};
    EXPECT_EQ(said(dumps),
              "rank 1 called something else at gradients all_reduce #1 of all gloo in step 7: rank "
              "0: all_reduce of 64 B (Float), rank 1: all_reduce of 128 B (Float)");
    dumps[1] = Rank(1, 3).all("all_gather", failed);
    EXPECT_THAT(find_stall(dumps)->culprits, ElementsAre(1));
    EXPECT_EQ(find_stall(dumps)->kind, Stall::mismatch);
}

TEST(FlightAnalysis, SendAndReceiveAreOneCollectiveOfTwo) {
    auto const of = [](char const* what, CollectiveState state) { return Rank::made(what, state); };
    std::vector<FlightDump> const late{
        Rank(0, 2).did("stages 0>1 gloo", {0, 1}, of("send", finished)),
        Rank(1, 2)
            .did("stages 0>1 gloo", {0, 1}, of("recv", finished))
            .did("stages 0>1 gloo", {0, 1}, of("recv", failed))};
    EXPECT_THAT(said(late), HasSubstr("rank 0 did not reach gradients recv #2 of stages 0>1 gloo"));
    // A send that has not been received yet delays nobody.
    std::vector<FlightDump> const sent{Rank(0, 2).did("s 0>1", {0, 1}, of("send", started))};
    EXPECT_EQ(said(sent), "");
}

TEST(FlightAnalysis, RanksThatWaitForEachOtherAreAllNamed) {
    std::vector<FlightDump> const dumps{
        Rank(0, 2).did("a gloo", {0, 1}, Rank::made("barrier", failed)),
        Rank(1, 2).did("b gloo", {0, 1}, Rank::made("barrier", failed))};
    auto const finding = find_stall(dumps);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->kind, Stall::crossed);
    EXPECT_THAT(said(dumps),
                HasSubstr("ranks wait for each other: gradients barrier #1 of a gloo"));
    EXPECT_THAT(said(dumps), HasSubstr("rank 1 waits in gradients barrier #1 of b gloo"));
}

TEST(FlightAnalysis, WhenAllAreThereItIsTheNetwork) {
    EXPECT_THAT(said({Rank(0, 2).all("all_reduce", failed), Rank(1, 2).all("all_reduce", failed)}),
                HasSubstr("all ranks came to gradients all_reduce #1"));
    EXPECT_EQ(said({Rank(0, 2).all("all_reduce", finished)}), "");
    EXPECT_EQ(said({}), "");
}

TEST(FlightAnalysis, HostileDumpsGiveTextOrNothing) {
    FlightDump bad = Rank(0, 2).all("all_reduce", failed);
    for (int const channel : {-1, 7, 1 << 30}) {
        bad.records[0].channel = channel;
        EXPECT_EQ(said({bad, bad}), "");
    }
    bad.records[0].channel = 0;
    bad.records[0].sequence = -5;
    bad.channels[0].started = INT64_MIN;
    bad.channels[0].ranks = {0, 0, -3, 99};
    EXPECT_THAT(said({bad, bad}), HasSubstr("-3"));
    bad.channels[0].ranks.clear();
    (void)said({bad});
}

TEST(FlightAnalysis, UnreadableFilesAreLeftOut) {
    std::string pattern = (std::filesystem::temp_directory_path() / "flight-XXXXXX").string();
    std::filesystem::path const folder = ::mkdtemp(pattern.data());
    for (int rank = 0; rank < 5; ++rank) {
        FlightDump dump = Rank(rank, 5).all("all_reduce", failed);
        dump.attempt = rank == 4 ? 1 : 0;
        ASSERT_TRUE(write_flight(folder, dump).has_value());
    }
    auto const whole = read_file(flight_file(folder, 1));
    ASSERT_TRUE(whole.has_value());
    std::ofstream(flight_file(folder, 1)) << whole->substr(0, whole->size() / 2);  // cut off
    std::filesystem::copy_file(flight_file(folder, 0), flight_file(folder, 2),
                               std::filesystem::copy_options::overwrite_existing);  // of rank 0
    auto const dumps = read_flights(folder, 0, 5);
    ASSERT_EQ(dumps.size(), 2u);
    EXPECT_EQ(dumps[0].rank, 0);
    EXPECT_EQ(dumps[1].rank, 3);
    EXPECT_EQ(dumps[1].records, FlightDump(Rank(3, 5).all("all_reduce", failed)).records);
    forget_flight(folder, 4, 0);
    EXPECT_EQ(read_flights(folder, 1, 5).size(), 1u);
    forget_flight(folder, 4, 1);
    EXPECT_TRUE(read_flights(folder, 1, 5).empty());
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace osora::protocol
