// The leader, driven by hand: which probers come and go, what they must do, what the result says.
#include "daemon/prober/leader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kGood = 50'000'000;

/// Probers that carry out every order, each at its own rate.
class Probe {
public:
    explicit Probe(int nodes, topology::ProbeRequest request = {})
        : leader_({.request = with_token(std::move(request)), .world_size = nodes}),
          bytes_(static_cast<std::size_t>(nodes), kGood) {}

    Result<void> join(int rank, std::string const& token = "secret") {
        ProberHello hello;
        hello.token = token;
        hello.rank = rank;
        hello.host = "n" + std::to_string(rank);
        hello.port = 1000 + rank;
        hello.addresses = {{"eth0", "10.0.0." + std::to_string(rank), "10.0.0.0/24"},
                           {"eth1", "10.1.0." + std::to_string(rank), "10.1.0.0/24"}};
        auto actions = leader_.joined(now_s_, hello, "10.0.0." + std::to_string(rank));
        if (actions.has_error()) return actions.error();
        take(std::move(*actions));
        return {};
    }
    void join_all() {
        for (int rank = 0; rank < static_cast<int>(bytes_.size()); ++rank) {
            ASSERT_TRUE(join(rank).has_value());
        }
    }
    /// Answers every order until there is none.
    void answer() {
        while (!asked_.empty()) {
            auto const asked = std::exchange(asked_, {});
            for (auto const& [rank, message] : asked) answer_one(rank, message);
        }
    }
    void answer_one(int rank, ToProber const& message) {
        if (silent_.contains(rank)) return;
        if (auto const* read = std::get_if<ReadStorage>(&message)) {
            StorageDone done{.round = read->round, .sample = {}, .error = storage_error_};
            done.sample.alone = read->alone;
            done.sample.read_bytes_per_s = rank == slow_reader_ ? 1e8 : 1e9;
            return take(leader_.heard(now_s_, rank, done));
        }
        auto const* run = std::get_if<RunTransfer>(&message);
        if (run == nullptr) return;
        tokens_[run->stream_token].push_back(rank);
        auto const other = other_of(rank, run->stream_token);
        TransferDone done;
        done.round = run->round;
        done.seconds = 0.4;
        done.received_bytes = std::min(bytes_[static_cast<std::size_t>(rank)],
                                       bytes_[static_cast<std::size_t>(other)]);
        if (refuses_ == rank) done.error = "connect: refused";
        take(leader_.heard(now_s_, rank, done));
    }
    void take(LeaderActions actions) {
        for (auto& action : actions) {
            if (auto* tell = std::get_if<TellProber>(&action)) {
                auto message = protocol::decode_message<ToProber>(tell->message);
                ASSERT_TRUE(message.has_value());
                asked_.emplace_back(tell->rank, *message);
            } else if (auto* done = std::get_if<LeaderDone>(&action)) {
                result_ = done->result;
            } else if (auto* part = std::get_if<RoundMeasured>(&action)) {
                parts_ += part->part.pairs.size();
            }
        }
    }
    /// "ROUND-FROM-TO"
    static int other_of(int rank, std::string const& token) {
        auto const last = token.rfind('-'), first = token.find('-');
        int const to = std::stoi(token.substr(last + 1));
        int const from = std::stoi(token.substr(first + 1, last - first - 1));
        return rank == to ? from : to;
    }

    ProbeLeader leader_;
    double now_s_ = 100;
    std::vector<std::int64_t> bytes_;
    std::vector<std::pair<int, ToProber>> asked_;
    std::map<std::string, std::vector<int>> tokens_;
    std::set<int> silent_;
    int refuses_ = -1, slow_reader_ = -1;
    std::string storage_error_;
    std::size_t parts_ = 0;
    std::optional<topology::ProbeResult> result_;

private:
    static topology::ProbeRequest with_token(topology::ProbeRequest request) {
        request.token = "secret";
        return request;
    }
};

TEST(ProbeLeader, measures_all_and_names_the_slow_node) {
    Probe probe(8);
    probe.bytes_[5] = kGood / 3;
    probe.join_all();
    probe.answer();
    ASSERT_TRUE(probe.result_.has_value());
    ASSERT_THAT(probe.result_->findings, SizeIs(1));
    EXPECT_THAT(probe.result_->findings[0].nodes, ElementsAre("n5"));
    EXPECT_EQ(probe.result_->scores[5].interface, "eth0");
    EXPECT_NEAR(probe.result_->median_gbit_s, 1.0, 1e-9);
    EXPECT_EQ(probe.parts_, probe.result_->pairs.size());
    // Both ends of a transfer get one token, the connecting one also an address and a port.
    for (auto const& [token, ranks] : probe.tokens_) EXPECT_THAT(ranks, SizeIs(2)) << token;
    EXPECT_TRUE(std::ranges::any_of(probe.result_->pairs, [](auto const& each) {
        return each.network == "10.1.0.0/24" && each.interface == "eth1";
    }));
}

TEST(ProbeLeader, refuses_strangers) {
    Probe probe(2);
    EXPECT_THAT(probe.join(0, "guess").error().message, HasSubstr("another token"));
    EXPECT_TRUE(probe.join(7).has_error());
    EXPECT_TRUE(probe.join(0).has_value());
    EXPECT_TRUE(probe.join(0).has_error());
}

TEST(ProbeLeader, continues_without_missing_probers) {
    Probe probe(4);
    for (int const rank : {0, 1, 3}) ASSERT_TRUE(probe.join(rank).has_value());
    EXPECT_TRUE(probe.asked_.empty());
    probe.now_s_ = probe.leader_.deadline_s();
    probe.take(probe.leader_.tick(probe.now_s_));
    EXPECT_TRUE(probe.join(2).has_error()) << "it has missed the start";
    probe.answer();
    ASSERT_TRUE(probe.result_.has_value());
    ASSERT_THAT(probe.result_->findings, SizeIs(1));
    EXPECT_EQ(probe.result_->findings[0].kind, "node_lost");
    EXPECT_EQ(probe.result_->findings[0].where, "node 2");
    EXPECT_GT(probe.result_->pairs.size(), 0u);
}

TEST(ProbeLeader, a_node_that_vanishes_during_a_round_blames_nobody) {
    Probe probe(6);
    probe.join_all();
    auto const asked = std::exchange(probe.asked_, {});
    for (auto const& [rank, message] : asked) {
        if (rank != 4) probe.answer_one(rank, message);
    }
    EXPECT_TRUE(probe.asked_.empty());
    probe.take(probe.leader_.lost(probe.now_s_, 4, "its prober is gone"));
    probe.answer();
    ASSERT_TRUE(probe.result_.has_value());
    ASSERT_THAT(probe.result_->findings, SizeIs(1));
    EXPECT_EQ(probe.result_->findings[0].kind, "node_lost");
    EXPECT_EQ(probe.result_->findings[0].evidence, "its prober is gone");
    for (auto const& pair : probe.result_->pairs) EXPECT_TRUE(pair.from != 4 && pair.to != 4);
}

TEST(ProbeLeader, a_node_that_does_not_answer_is_given_up) {
    Probe probe(4);
    probe.silent_ = {1};
    probe.join_all();
    probe.answer();
    ASSERT_FALSE(probe.result_.has_value());
    probe.now_s_ = probe.leader_.deadline_s();
    probe.take(probe.leader_.tick(probe.now_s_));
    probe.answer();
    ASSERT_TRUE(probe.result_.has_value());
    EXPECT_EQ(probe.result_->findings[0].where, "n1");
}

TEST(ProbeLeader, a_transfer_that_fails_is_a_dead_pair_with_a_warning) {
    Probe probe(4);
    probe.refuses_ = 2;
    probe.join_all();
    probe.answer();
    ASSERT_TRUE(probe.result_.has_value());
    ASSERT_GE(probe.result_->findings.size(), 1u);
    EXPECT_EQ(probe.result_->findings[0].where, "n2");
    EXPECT_EQ(probe.result_->findings[0].ratio, 0);
    EXPECT_THAT(probe.result_->warnings, testing::Contains(HasSubstr("connect: refused")));
}

TEST(ProbeLeader, storage_is_read_by_one_alone_then_by_all) {
    topology::ProbeRequest request;
    request.storage_paths = {"/data"};
    Probe probe(4, request);
    probe.slow_reader_ = 3;
    probe.join_all();
    probe.answer();
    ASSERT_TRUE(probe.result_.has_value());
    EXPECT_THAT(probe.result_->storage, SizeIs(5));
    ASSERT_THAT(probe.result_->findings, SizeIs(1));
    EXPECT_EQ(probe.result_->findings[0].kind, "slow_storage");
    EXPECT_EQ(probe.result_->findings[0].where, "n3");
}

TEST(ProbeLeader, asked_to_finish_returns_what_is_measured) {
    Probe probe(4);
    probe.join_all();
    auto const asked = std::exchange(probe.asked_, {});
    for (auto const& [rank, message] : asked) probe.answer_one(rank, message);
    probe.take(probe.leader_.finish());
    ASSERT_TRUE(probe.result_.has_value());
    EXPECT_THAT(probe.result_->pairs, SizeIs(4));
    EXPECT_TRUE(probe.leader_.is_done());
}

TEST(ProbeLeader, one_node_has_no_pairs) {
    Probe probe(1);
    probe.join_all();
    ASSERT_TRUE(probe.result_.has_value());
    EXPECT_TRUE(probe.result_->pairs.empty() && probe.result_->findings.empty());
}

}  // namespace
}  // namespace osora::daemon
