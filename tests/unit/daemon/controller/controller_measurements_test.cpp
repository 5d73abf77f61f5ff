// What nodes report of steps, ranks and health: each record once in the journal, and within the
// limits.
#include "protocol/steps/collective_reducer.hpp"
#include "tests/unit/daemon/controller/controller_by_hand.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace osora::daemon {
namespace {

RankMatrix matrix(int step0, int steps) {
    RankMatrix made;
    made.attempt = 0;
    made.node = made.first_rank = 1;
    made.ranks = 1;
    made.step0 = step0;
    made.steps = steps;
    return made;
}

NodeHealth health(std::int64_t number) {
    NodeHealth made;
    made.node = 1;
    made.number = number;
    return made;
}

/// Of `controller` after `message` of node 1.
template <class Message>
bool is_kept(Controller& controller, Message message, int connection = 1) {
    std::size_t const count = controller.records.size();
    controller.say(connection, std::move(message));
    return controller.records.size() > count &&
           std::holds_alternative<Message>(controller.records.back().event);
}

TEST(ControllerMeasurements, MatricesOfAStepAreKeptOnce) {
    Controller controller;
    controller.run();
    EXPECT_TRUE(is_kept(controller, matrix(0, 64)));
    EXPECT_FALSE(is_kept(controller, matrix(0, 64)));
    EXPECT_FALSE(is_kept(controller, matrix(63, 64)));
    EXPECT_TRUE(is_kept(controller, matrix(64, 10)));
    // A restarted controller knows them from the journal.
    Controller next(controller.records);
    next.feed(AgentConnected{7});
    next.say(7, Controller::hello(1, 0));
    EXPECT_FALSE(is_kept(next, matrix(64, 10), 7));
    EXPECT_TRUE(is_kept(next, matrix(74, 1), 7));
}

TEST(ControllerMeasurements, ImpossibleMatricesAreNotKept) {
    Controller controller;
    controller.run();
    RankMatrix others = matrix(0, 64);
    others.first_rank = 0;
    RankMatrix stale = matrix(0, 64);
    stale.attempt = 3;
    RankMatrix crowded = matrix(0, 64);
    for (int i = 0; i < 65; ++i) crowded.figures[std::to_string(i)] = {};
    for (auto const& each : {others, stale, crowded, matrix(0, 0), matrix(-1, 64), matrix(0, 5000),
                             matrix(2'000'000'000, 64)}) {
        EXPECT_FALSE(is_kept(controller, each)) << each.step0 << " + " << each.steps;
    }
}

CollectiveSums collectives(int number) {
    CollectiveSums made{.attempt = 0, .node = 1, .number = number, .sums = {}};
    made.sums.resize(1);
    made.sums.front().bucket = "8x8x1";
    made.sums.front().rank_steps = 7;
    made.sums.front().cost.name = "stop vote";
    made.sums.front().cost.ranks = 2;
    return made;
}

TEST(ControllerMeasurements, CollectivesAreKeptOnceAlsoByARestartedController) {
    Controller controller;
    controller.run();
    EXPECT_TRUE(is_kept(controller, collectives(0)));
    EXPECT_FALSE(is_kept(controller, collectives(0)));
    EXPECT_TRUE(is_kept(controller, collectives(2))) << "one was dropped on the way";
    Controller next(controller.records);
    next.feed(AgentConnected{7});
    next.say(7, Controller::hello(1, 0));
    EXPECT_FALSE(is_kept(next, collectives(2), 7));
    EXPECT_TRUE(is_kept(next, collectives(3), 7));
}

TEST(ControllerMeasurements, ImpossibleCollectivesAreNotKept) {
    Controller controller;
    controller.run();
    auto stale = collectives(0), negative = collectives(-1), crowded = collectives(0),
         empty = collectives(0);
    stale.attempt = 3;
    crowded.sums.resize(CollectiveReducer::kSumsMax + 1, crowded.sums.front());
    empty.sums[0].rank_steps = 0;
    for (auto const& each : {stale, negative, crowded, empty}) {
        EXPECT_FALSE(is_kept(controller, each));
    }
}

TEST(ControllerMeasurements, HealthIsKeptOnceAlsoWhenItIsReportedAgain) {
    Controller controller;
    controller.run();
    EXPECT_TRUE(is_kept(controller, health(0)));
    EXPECT_FALSE(is_kept(controller, health(0)));
    EXPECT_TRUE(is_kept(controller, health(1)));
    Controller next(controller.records);
    next.feed(AgentConnected{7});
    next.say(7, Controller::hello(1, 0));
    EXPECT_FALSE(is_kept(next, health(1), 7));
    EXPECT_TRUE(is_kept(next, health(2), 7));
}

TEST(ControllerMeasurements, ANodeThatReportsTooMuchIsLimited) {
    Controller controller;
    controller.run();
    std::int64_t number = 0;
    int kept = 0;
    for (int i = 0; i < 200; ++i) kept += is_kept(controller, health(number++)) ? 1 : 0;
    EXPECT_GE(kept, 64) << "what was kept for a controller that was away";
    EXPECT_LE(kept, 66);
    for (int i = 0; i < 3; ++i) {
        controller.wait(5s);
        EXPECT_TRUE(is_kept(controller, health(number++))) << "one in 5 s";
        EXPECT_FALSE(is_kept(controller, health(number++)));
    }
}

MetricChunk one_step(int step, double step_s) {
    MetricChunk made;
    made.attempt = 0;
    made.ranks = 1;
    made.step0 = step;
    made.bucket = {"64x64x8"};
    made.samples = {8};
    made.columns["step_time_s"] = {{step_s}, {step_s}, {step_s}, {0}};
    return made;
}

std::ptrdiff_t alarms_in(std::vector<JournalRecord> const& records) {
    return std::ranges::count_if(records, [](JournalRecord const& each) {
        auto const* notice = std::get_if<RunNotice>(&each.event);
        return notice != nullptr && notice->kind == "throughput_sag";
    });
}

TEST(ControllerMeasurements, SlowerStepsLeaveOneAlarmAlsoOverACrash) {
    Controller controller;
    controller.run();
    int step = 0;
    for (; alarms_in(controller.records) == 0 && step < 200; ++step) {
        controller.say(0, one_step(step, step < 100 ? 1.0 : 1.5));
    }
    EXPECT_EQ(alarms_in(controller.records), 1);
    EXPECT_LT(step, 115);
    for (; step < 200; ++step) controller.say(0, one_step(step, 1.5));
    EXPECT_EQ(alarms_in(controller.records), 1);
    EXPECT_EQ(alarms_in(Controller(controller.records).records), 1);
    // Killed between the step and its alarm: the next incarnation raises it.
    auto cut = controller.records;
    while (alarms_in(cut) > 0) cut.pop_back();
    EXPECT_EQ(alarms_in(Controller(cut).records), 1);
}

MetricChunk steps_of(int step0, int steps) {
    MetricChunk made = one_step(step0, 1.0);
    made.bucket.assign(static_cast<std::size_t>(steps), "8x8x1");
    made.samples.assign(made.bucket.size(), 8);
    std::vector const times(made.bucket.size(), 1.0);
    made.columns["step_time_s"] = {times, times, times, std::vector(made.bucket.size(), 0)};
    return made;
}

/// Ranks that a step has in the journal.
std::map<int, int> ranks_in(std::vector<JournalRecord> const& records) {
    std::map<int, int> ranks;
    for (auto const& record : records) {
        auto const* steps = std::get_if<MergedSteps>(&record.event);
        for (std::size_t i = 0; steps != nullptr && i < steps->ranks.size(); ++i) {
            ranks[steps->step0 + static_cast<int>(i)] += steps->ranks[i];
        }
    }
    return ranks;
}

TEST(ControllerMeasurements, StepsAreAcknowledgedOnceTheyAreWritten) {
    Controller controller;
    controller.run();
    controller.say(0, steps_of(0, 2));
    EXPECT_EQ(ranks_in(controller.records), (std::map<int, int>{{0, 1}, {1, 1}}));
    auto const first = controller.sent<AckReports>();
    ASSERT_EQ(first.size(), 1u);
    controller.say(1, steps_of(0, 4));  // both nodes have now reported 0 and 1
    EXPECT_EQ(ranks_in(controller.records), (std::map<int, int>{{0, 2}, {1, 2}}));
    EXPECT_TRUE(controller.sent<AckReports>().empty());
    controller.say(1, matrix(0, 64));
    EXPECT_TRUE(controller.sent<AckReports>().empty()) << "it comes after steps that wait";
    controller.wait(2s);
    EXPECT_EQ(ranks_in(controller.records), (std::map<int, int>{{0, 2}, {1, 2}, {2, 1}, {3, 1}}));
    auto const acks = controller.sent<AckReports>();
    ASSERT_EQ(acks.size(), 1u);
    EXPECT_EQ(acks[0].first, 1);
    EXPECT_EQ(acks[0].second.next, first[0].second.next + 1) << "the steps and the matrix";
    controller.say(0, steps_of(2, 2));
    for (auto const& [step, ranks] : ranks_in(controller.records)) EXPECT_EQ(ranks, 2) << step;
}

TEST(ControllerMeasurements, ADecisionComesAfterEarlierReports) {
    Controller controller;
    controller.run();
    controller.say(0, steps_of(0, 1));
    controller.say(1, steps_of(0, 1));
    controller.say(0, steps_of(1, 3));
    EXPECT_EQ(ranks_in(controller.records).count(1), 0u);
    controller.say(0, Controller::killed(0, 0));
    auto const position = [&](auto const& is_it) {
        return std::ranges::find_if(controller.records, is_it) - controller.records.begin();
    };
    auto const written = position([](auto const& each) {
        auto const* steps = std::get_if<MergedSteps>(&each.event);
        return steps != nullptr && steps->step0 + std::ssize(steps->ranks) == 4;
    });
    EXPECT_LT(written, position([](auto const& each) {
                  return std::holds_alternative<RankFailed>(each.event);
              }));
    EXPECT_EQ(ranks_in(controller.records).at(3), 1);
}

/// A report that was acknowledged before its record is durable would be lost with the controller.
TEST(ControllerMeasurements, AReportIsAcknowledgedAfterItsOwnRecord) {
    Controller controller;
    controller.run();
    controller.say(0, steps_of(0, 1));
    controller.say(1, steps_of(0, 2));  // step 1 waits for node 0
    controller.say(1, Controller::killed(0, 1));
    std::ptrdiff_t failed = -1, last_ack = -1;
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i < controller.last.size(); ++i) {
        auto const* record = std::get_if<AppendRecord>(&controller.last[i]);
        if (record != nullptr && std::holds_alternative<RankFailed>(record->record.event)) {
            failed = static_cast<std::ptrdiff_t>(i);
        }
        auto const* sent = std::get_if<SendToAgent>(&controller.last[i]);
        auto const* ack = sent != nullptr ? std::get_if<AckReports>(&sent->message) : nullptr;
        if (ack == nullptr || sent->connection != 1 || ack->next <= highest) continue;
        highest = ack->next;
        last_ack = static_cast<std::ptrdiff_t>(i);
    }
    ASSERT_GE(failed, 0);
    EXPECT_GT(last_ack, failed);
    EXPECT_EQ(highest, 3u) << "rank started, steps, rank failed";
}

/// A controller dies between the records of steps: each incarnation writes what the last one did
/// not.
TEST(ControllerMeasurements, StepsAreInTheJournalOnceWhereverAnIncarnationEnds) {
    Controller whole;
    whole.run();
    std::vector<std::pair<int, MetricChunk>> reported;
    for (int node : {0, 1}) reported.emplace_back(node, steps_of(0, 1));
    for (int i = 0; i < 6; ++i) {
        reported.emplace_back(0, steps_of(1 + 5 * i, 5));
        reported.emplace_back(1, steps_of(1 + 3 * i, 3));
    }
    for (auto const& [node, chunk] : reported) whole.say(node, chunk);
    whole.wait(2s);
    auto const expected = ranks_in(whole.records);
    EXPECT_EQ(expected.size(), 31u);
    // Chunks are spread over several records: an incarnation may have written only part of one.
    bool const in_parts = std::ranges::any_of(whole.records, [](auto const& each) {
        auto const* steps = std::get_if<MergedSteps>(&each.event);
        return steps != nullptr && steps->step0 == 4 && steps->ranks[0] == 2;
    });
    EXPECT_TRUE(in_parts);
    for (std::size_t kept = 0; kept <= whole.records.size(); ++kept) {
        std::vector<JournalRecord> cut(whole.records.begin(),
                                       whole.records.begin() + static_cast<std::ptrdiff_t>(kept));
        bool const is_up = std::ranges::any_of(cut, [](auto const& each) {
            return std::holds_alternative<LaunchOrdered>(each.event);
        });
        if (!is_up) continue;
        Controller next(cut);
        for (int node : {0, 1}) {
            next.feed(AgentConnected{7 + node});
            next.say(7 + node, Controller::hello(node, 0));
        }
        for (auto const& [node, chunk] : reported) next.say(7 + node, chunk);  // all of it, again
        next.wait(2s, {});
        EXPECT_EQ(ranks_in(next.records), expected) << "cut after record " << kept;
    }
}

TEST(ControllerMeasurements, WhereAgentsEndWithTheControllerStepsAreWrittenAtOnce) {
    auto options = Controller::options({});
    options.steps_wait = {};
    ControllerCore core(options, {});
    Now const now{100s, 5};
    static_cast<void>(core.start(now));
    for (int node : {0, 1}) {
        static_cast<void>(core.handle(now, AgentConnected{node}));
        static_cast<void>(core.handle(now, AgentSaid{node, Controller::hello(node)}));
    }
    StoreReserved store;
    store.host = "h";
    store.port = 1;
    static_cast<void>(core.handle(now, AgentSaid{0, store}));
    for (int i = 0; i < 3; ++i) {
        for (int node : {0, 1}) {
            int records = 0;
            for (auto const& each : core.handle(now, AgentSaid{node, steps_of(i, 1)})) {
                records += std::holds_alternative<AppendRecord>(each) ? 1 : 0;
            }
            EXPECT_EQ(records, 1) << "node " << node << ", step " << i;
        }
    }
}

/// The notices of a run whose program has succeeded; `reported`: agents have meanwhile reported
/// that they found no steps.
std::vector<RunNotice> notices_at_end(std::string const& job, json::value config, bool stepped,
                                      bool reported = false) {
    auto options = Controller::options({});
    options.submission.job = job;
    options.submission.config = std::move(config);
    Controller controller({}, false);
    std::vector<JournalRecord> const none;
    ControllerCore core(options, none);
    std::vector<RunNotice> notices;
    auto const take = [&](ControllerActions const& actions) {
        for (auto const& each : actions) {
            auto const* record = std::get_if<AppendRecord>(&each);
            auto const* notice =
                record != nullptr ? std::get_if<RunNotice>(&record->record.event) : nullptr;
            if (notice != nullptr) notices.push_back(*notice);
        }
    };
    auto const say = [&](int connection, FromAgent message) {
        take(core.handle({100s, 5}, AgentSaid{connection, std::move(message)}));
    };
    take(core.start({100s, 5}));
    for (int node : {0, 1}) {
        take(core.handle({100s, 5}, AgentConnected{node}));
        say(node, Controller::hello(node));
    }
    say(0, StoreReserved{0, "h", 29500, ""});
    for (int rank : {0, 1}) say(rank, Controller::started(0, rank));
    for (int node : {0, 1}) {
        MetricChunk chunk = one_step(0, 0.5);
        chunk.node = node;
        if (stepped) say(node, chunk);
    }
    for (int node : {0, 1}) {
        RunNotice notice;
        notice.attempt = 0;
        notice.kind = "no_steps_found";
        notice.detail = "so far";
        if (reported) say(node, notice);
    }
    for (int node : {0, 1}) say(node, NodeFinished{0, node});
    for (int node : {0, 1}) say(node, NodeStopped{0, node});
    EXPECT_EQ(core.status().state, RunState::done);
    EXPECT_EQ(core.status().verdict, Verdict::ok);
    return notices;
}

TEST(ControllerCore, AProgramWithoutStepsIsReported) {
    auto const notices = notices_at_end("exec", {}, false);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].kind, "no_steps_found");
    EXPECT_THAT(notices[0].detail, testing::HasSubstr("osora exec-steps LOG"));
    EXPECT_THAT(notices[0].detail, testing::HasSubstr("(?<step>"));
    EXPECT_TRUE(notices_at_end("exec", {}, true).empty());
    EXPECT_TRUE(notices_at_end("train", {}, false).empty());
    EXPECT_TRUE(notices_at_end("exec", {}, true, true).empty()) << "another node has some";
    auto const meanwhile = notices_at_end("exec", {}, false, true);
    ASSERT_EQ(meanwhile.size(), 1u) << "once";
    EXPECT_EQ(meanwhile[0].detail, "so far");
    EXPECT_TRUE(notices_at_end("exec", {{"worker", {{"step_pattern", "none"}}}}, false).empty());
}

}  // namespace
}  // namespace osora::daemon
