// Each rule: something broken in a healthy cluster fires it, and only it; healthy clusters of every
// kind fire none.
#include "tests/unit/topology/doctor/broken.hpp"
#include "tests/unit/topology/doctor/clusters.hpp"
#include "topology/doctor/rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace osora::topology::doctor {
namespace {

std::vector<std::string> alarms(Diagnosis const& diagnosis) {
    std::vector<std::string> list;
    for (auto const& each : diagnosis.findings) {
        if (each.severity == Severity::info) continue;
        list.push_back(each.rule + " on " + each.where + ": " + each.title + " (" + each.seen +
                       ")");
    }
    return list;
}

class Healthy : public ::testing::TestWithParam<std::string> {};

TEST_P(Healthy, NoRuleFires) {
    for (int const nodes : {1, 2, 4}) {
        auto evidence = tests::cluster(GetParam(), nodes);
        EXPECT_THAT(alarms(diagnose(evidence)), testing::IsEmpty()) << nodes << " nodes";
        evidence.probe = tests::quiet_probe(evidence);
        evidence.slurm = SlurmEvidence{};
        evidence.run = RunEvidence{.nodes = nodes,
                                   .ranks = nodes * 8,
                                   .own_settings = {},
                                   .collectives = "bucketed",
                                   .grad_bucket_mib = 25,
                                   .step_s = 7,
                                   .exposed_comm_share = 0.06,
                                   .late_node = {}};
        EXPECT_THAT(alarms(diagnose(evidence)), testing::IsEmpty()) << nodes << " nodes, probed";
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Healthy, ::testing::ValuesIn(tests::cluster_kinds()),
                         [](auto const& info) {
                             std::string name = info.param;
                             std::erase(name, '-');
                             return name;
                         });

class Broken : public ::testing::TestWithParam<tests::BrokenCase> {};

TEST_P(Broken, FiresItsRuleAndNoOther) {
    auto const& broken = GetParam();
    auto evidence = tests::cluster(broken.kind, broken.nodes);
    if (broken.probed) evidence.probe = tests::quiet_probe(evidence);
    broken.damage(evidence);
    auto const diagnosis = diagnose(evidence);
    bool found = false;
    for (auto const& each : diagnosis.findings) {
        if (each.rule == broken.rule && each.severity == broken.severity) {
            found = true;
            EXPECT_EQ(each.where, broken.where) << each.title;
            EXPECT_THAT(each.title + "\n" + each.seen, testing::HasSubstr(broken.says));
            EXPECT_FALSE(each.title.empty());
            if (each.severity != Severity::info) {
                EXPECT_FALSE(each.effect.empty()) << each.title;
                EXPECT_FALSE(each.fix.empty()) << each.title;
                EXPECT_EQ(each.fix.find('{'), std::string::npos) << each.fix;
            }
        } else if (each.severity != Severity::info) {
            bool const expected = std::ranges::find(broken.also, each.rule) != broken.also.end();
            EXPECT_TRUE(expected) << each.rule << ": " << each.title << " (" << each.seen << ")";
        }
    }
    EXPECT_TRUE(found) << broken.rule
                       << " did not fire; alarms: " << testing::PrintToString(alarms(diagnosis));
}

INSTANTIATE_TEST_SUITE_P(Rules, Broken, ::testing::ValuesIn(tests::broken_cases()),
                         [](auto const& info) {
                             std::string name =
                                 std::string(info.param.rule) + "_" + std::to_string(info.index);
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST(RuleTable, EveryRuleIsBrokenOnce) {
    std::set<std::string_view> tried;
    for (auto const& each : tests::broken_cases()) tried.insert(each.rule);
    for (auto const& each : rule_table()) {
        EXPECT_TRUE(tried.contains(each.id)) << each.id << " has no case that fires it";
    }
}

TEST(RuleTable, IdsDifferAndEveryRowOfTheCatalogueIsThere) {
    std::set<std::string_view> ids;
    std::set<int> rows;
    for (auto const& each : rule_table()) {
        EXPECT_TRUE(ids.insert(each.id).second) << each.id;
        EXPECT_TRUE(each.question.ends_with('?')) << each.id;
        rows.insert(each.row);
    }
    for (int row = 1; row <= 30; ++row) EXPECT_TRUE(rows.contains(row)) << row;
}

TEST(RuleTable, NothingKnownIsNoFault) {
    EXPECT_THAT(alarms(diagnose(Evidence{})), testing::IsEmpty());
    Evidence named;
    named.nodes.resize(3);
    for (auto& each : named.nodes) each.name = "n";
    EXPECT_THAT(alarms(diagnose(named)), testing::IsEmpty());
}

}  // namespace
}  // namespace osora::topology::doctor
