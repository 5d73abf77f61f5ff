// Folding over nodes, ranking, and the text that a person reads.
#include "cli/cluster/doctor_text.hpp"
#include "cli/text/terminal.hpp"
#include "tests/unit/topology/doctor/clusters.hpp"
#include "topology/doctor/rule.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

namespace osora::topology::doctor {
namespace {

using testing::HasSubstr;

Outcome each_node(Evidence const& evidence) {
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        outcome.findings.push_back({.severity = Severity::fault,
                                    .nodes = {node.name},
                                    .title = "bad",
                                    .seen = "seen on " + node.name,
                                    .fix = "exclude it {exclude}",
                                    .impact = 0.2});
    }
    return outcome;
}

Outcome a_warning(Evidence const&) {
    return {{{.severity = Severity::warning, .title = "odd", .impact = 1}}, {}};
}

Outcome a_worse_fault(Evidence const&) {
    return {{{.severity = Severity::fault, .title = "worse", .impact = 0.9}}, {}};
}

Outcome not_checked(Evidence const&) {
    return {{}, "no InfiniBand"};
}

constexpr std::array kRules{
    Rule{"warns", 0, "?", "", a_warning}, Rule{"each", 1, "?", "nccl#1 nccl#2", each_node},
    Rule{"worse", 2, "?", "", a_worse_fault}, Rule{"skips", 3, "?", "", not_checked}};

Evidence nodes(int count) {
    Evidence evidence;
    for (int i = 1; i <= count; ++i) evidence.nodes.emplace_back().name = fmt::format("n{}", i);
    return evidence;
}

TEST(Diagnose, RanksFoldsAndCounts) {
    auto const diagnosis = diagnose(nodes(3), kRules);
    ASSERT_EQ(diagnosis.findings.size(), 3u);
    EXPECT_EQ(diagnosis.findings[0].rule, "worse");
    EXPECT_EQ(diagnosis.findings[1].rule, "each");
    EXPECT_EQ(diagnosis.findings[2].rule, "warns");
    EXPECT_EQ(diagnosis.findings[1].where, "all");
    EXPECT_THAT(diagnosis.findings[1].threads, testing::ElementsAre("nccl#1", "nccl#2"));
    EXPECT_EQ(diagnosis.findings[1].seen, "seen on n1; and the like on 2 more");
    EXPECT_EQ(diagnosis.findings[1].fix,
              R"(exclude it (--set faults.exclude_nodes='["n1","n2","n3"]'))");
    EXPECT_EQ(diagnosis.rules_checked, 3);
    ASSERT_EQ(diagnosis.skipped.size(), 1u);
    EXPECT_EQ(diagnosis.skipped[0].reason, "no InfiniBand");
}

TEST(Diagnose, OneNodeIsNamed) {
    EXPECT_EQ(diagnose(nodes(1), kRules).findings[1].where, "n1");
}

TEST(DoctorText, AsSketched) {
    // The sketch of the design: a NIC that is trained down, and an inherited setting.
    auto evidence = tests::cluster("hgx-ib", 16);
    auto& bad = evidence.nodes[10];
    auto& nics = bad.machine->nics;
    std::ranges::find(nics, std::string("mlx5_3"), &Nic::device)->link = {8, 32, 8, 16};
    evidence.probe = tests::quiet_probe(evidence);
    evidence.probe->scores[10].of_median = 0.31;
    for (auto& node : evidence.nodes) {
        node.settings.push_back({.name = "NCCL_ALGO",
                                 .value = "Tree",
                                 .origin = "environment, set by /etc/profile.d/nccl.sh:4"});
    }
    auto const diagnosis = diagnose(evidence);
    auto const text = cli::doctor_text(diagnosis);
    EXPECT_EQ(text.substr(0, text.find("2 findings")),
              R"(n11  FAULT  mlx5_3 trained down to PCIe gen3 x8 (max gen5 x16)
            seen: current_link_speed 8.0 GT/s, current_link_width 8; pair
            bandwidth 0.31 of the median
            effect: the whole job runs at n11's speed (NCCL takes the minimum)
            do: exclude it (--set faults.exclude_nodes='["n11"]'), reseat or
            reset the NIC
all  WARN   NCCL_ALGO=Tree comes from /etc/profile.d/nccl.sh:4 and overrides the
            tuner
            effect: one choice for all sizes: 150 instead of 190 GB/s was seen
            do: unset it, or keep it under [nccl] if you mean it
)");
    EXPECT_THAT(text, HasSubstr("2 findings, 1 fault · "));
    EXPECT_THAT(text, HasSubstr(" rules checked on 16 nodes"));
}

TEST(DoctorText, FitsEightyColumnsWhateverComesFromOutside) {
    Diagnosis diagnosis;
    diagnosis.nodes = 2;
    diagnosis.findings.push_back({.severity = Severity::fault,
                                  .where = std::string(60, 'w'),
                                  .title = "a title \x1b[31m with\nlines",
                                  .seen = std::string(500, 'x') + " " + std::string(5000, 'y'),
                                  .effect = "e",
                                  .fix = "f"});
    auto const text = cli::doctor_text(diagnosis);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_LT(text.size(), 3000u);
}

}  // namespace
}  // namespace osora::topology::doctor
