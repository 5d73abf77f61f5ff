// What a trial between two runs is started with, and what of their difference a trial can switch.
#include "cli/bisect/bisect_inputs.hpp"

#include "cli/bisect/bisect_atoms.hpp"
#include "cli/bisect/bisect_text.hpp"
#include "db/record/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

BisectSide side(plan::RunConfig const& config, db::Facts env, std::vector<std::string> hosts) {
    BisectSide made;
    made.config = config;
    made.run.config = db::flatten(protocol::to_json(config));
    made.run.env = std::move(env);
    for (auto const& host : hosts) {
        db::RunNode node;
        node.hostname = host;
        made.run.summary.nodes.push_back(node);
    }
    made.hosts = std::move(hosts);
    made.run.summary.run.nodes = static_cast<int>(made.hosts.size());
    made.run.summary.run.ranks = made.run.summary.run.nodes;
    made.run.summary.measured.emplace();
    made.run.summary.measured->step_s_mix = 1;
    return made;
}

BisectSide good() {
    return side({}, {{"NCCL_ALGO", "Ring"}, {"NCCL_DEBUG", "INFO"}, {"GLOO_X", "a | b"}},
                {"n1", "n2"});
}

BisectSide bad() {
    plan::RunConfig config;
    config.debug.collectives = "per_parameter";
    config.nccl = {{"NCCL_IB_TC", "106"}};
    auto made = side(config, {{"NCCL_IB_TC", "106"}, {"NCCL_DEBUG", "WARN"}, {"GLOO_X", "a | c"}},
                     {"n3", "n4"});
    made.run.software["commit"] = "abc";
    return made;
}

std::vector<std::string> const kAllocation{"n1", "n2", "n3", "n4"};
Environment const kShell{"PATH=/bin", "NCCL_IB_TC=7", "GLOO_X=mine"};

TEST(TrialStart, WithNothingChosenItIsTheGoodRunInAnyShell) {
    auto const start = trial_start(good(), bad(), {}, kShell, kAllocation);
    ASSERT_TRUE(start.has_value()) << start.error().message;
    EXPECT_EQ(start->config.debug.collectives, "bucketed");
    EXPECT_THAT(start->environment, UnorderedElementsAre("PATH=/bin", "NCCL_ALGO=Ring",
                                                         "NCCL_DEBUG=INFO", "GLOO_X=mine"))
        << "NCCL_IB_TC was not set in the good run; what differs between ranks stays";
    EXPECT_THAT(start->config.faults.exclude_nodes, ElementsAre("n3", "n4"));
}

// ssh.hosts and Slurm may name a node otherwise than it names itself.
TEST(TrialStart, NodesCountWhateverTheFormOfTheirNames) {
    std::vector<std::string> const named{"n1.cluster", "n2.cluster", "N3", "n4"};
    auto const start = trial_start(good(), bad(), {}, kShell, named);
    ASSERT_TRUE(start.has_value()) << start.error().message;
    EXPECT_THAT(start->config.faults.exclude_nodes, ElementsAre("N3", "n4"));
    auto const atoms = triable_atoms(good(), bad(), named);
    EXPECT_THAT(atoms.not_tried, Not(Contains(Field(&NotTried::why, HasSubstr("allocation")))));
}

TEST(TrialStart, AHistoryCannotSetVariablesThatLoadCode) {
    auto given = good();
    for (char const* name : {"LD_PRELOAD", "PATH", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV"}) {
        given.run.env[name] = "/evil";
        EXPECT_FALSE(is_trial_variable(name));
    }
    auto const start = trial_start(given, bad(), {}, kShell, kAllocation);
    ASSERT_TRUE(start.has_value()) << start.error().message;
    EXPECT_THAT(start->environment, Contains("PATH=/bin"));
    EXPECT_THAT(start->environment, Not(Contains(HasSubstr("/evil"))));
}

TEST(TrialStart, TakesWhatWasChosenFromTheBadRun) {
    TrialChoice const choice{.config_keys = {"debug.collectives"},
                             .variables = {"NCCL_ALGO", "NCCL_IB_TC"},
                             .hosts = true};
    auto const start = trial_start(good(), bad(), choice, kShell, kAllocation);
    ASSERT_TRUE(start.has_value()) << start.error().message;
    EXPECT_EQ(start->config.debug.collectives, "per_parameter");
    EXPECT_TRUE(start->config.nccl.empty()) << "was not chosen";
    EXPECT_THAT(start->environment, UnorderedElementsAre("PATH=/bin", "NCCL_DEBUG=INFO",
                                                         "NCCL_IB_TC=106", "GLOO_X=mine"));
    EXPECT_THAT(start->config.faults.exclude_nodes, ElementsAre("n1", "n2"));
}

TEST(TriableAtoms, WhatNoTrialCanSwitchIsSaidWithItsReason) {
    auto const here = triable_atoms(good(), bad(), kAllocation);
    std::vector<std::string> names;
    for (auto const& each : here.not_tried) names.push_back(each.name);
    EXPECT_THAT(names, UnorderedElementsAre("commit", "GLOO_X"));
    auto const elsewhere = triable_atoms(good(), bad(), {"n1", "n2"});
    EXPECT_THAT(elsewhere.not_tried, SizeIs(3));
    EXPECT_EQ(elsewhere.atoms.size() + 1, here.atoms.size()) << "the nodes";
    EXPECT_THAT(elsewhere.not_tried, Contains(Field(&NotTried::why, HasSubstr("allocation"))));
}

TEST(TriableAtoms, TrialsDoNotSwitchWhatStagesChange) {
    auto slow = bad();
    slow.run.config["stage[0].optim.lr"] = "1e-05";
    auto const atoms = triable_atoms(good(), slow, kAllocation);
    EXPECT_EQ(atoms.atoms.size(), triable_atoms(good(), bad(), kAllocation).atoms.size());
    EXPECT_THAT(atoms.not_tried, Contains(AllOf(Field(&NotTried::name, "stage[0].optim.lr"),
                                                Field(&NotTried::why, HasSubstr("[[stage]]")))));
}

TEST(TriableAtoms, AVariableAndTheKeyThatSetsItAreOne) {
    auto const atoms = triable_atoms(good(), bad(), kAllocation);
    auto const atom = std::ranges::find_if(atoms.atoms, [&](auto const& each) {
        return atoms.factors[static_cast<std::size_t>(each.factors[0])].name.ends_with(
            "NCCL_IB_TC");
    });
    ASSERT_NE(atom, atoms.atoms.end());
    EXPECT_THAT(atom->factors, SizeIs(2));
    EXPECT_EQ(atom->name, "nccl.NCCL_IB_TC") << "the variable follows from it";
    std::vector<bool> flipped(atoms.atoms.size(), false);
    flipped[static_cast<std::size_t>(atom - atoms.atoms.begin())] = true;
    auto const choice = choice_of(atoms, flipped);
    EXPECT_THAT(choice.config_keys, ElementsAre("nccl.NCCL_IB_TC"));
    EXPECT_THAT(choice.variables, ElementsAre("NCCL_IB_TC"));
    EXPECT_FALSE(choice.hosts);
}

TEST(FlippedText, FitsItsColumns) {
    auto const atoms = triable_atoms(good(), bad(), kAllocation);
    auto const count = atoms.atoms.size();
    EXPECT_EQ(flipped_text(atoms, std::vector<bool>(count, false), 20), "-");
    EXPECT_EQ(flipped_text(atoms, std::vector<bool>(count, true), 20), "all");
    for (unsigned bits = 1; bits + 1 < (1u << count); ++bits) {
        std::vector<bool> flipped;
        for (std::size_t i = 0; i < count; ++i) flipped.push_back((bits >> i & 1) != 0);
        auto const text = flipped_text(atoms, flipped, 24);
        EXPECT_LE(text.size(), 24u) << text;
        EXPECT_FALSE(text.empty());
    }
}

TEST(FactorText, NumbersAreWrittenAsPeopleDo) {
    db::analysis::Factor const factor{.name = "memory.gpu_memory_gib",
                                      .kind = db::analysis::FactorKind::config,
                                      .good = "8E1",
                                      .bad = "4.5E1"};
    EXPECT_EQ(factor_text(factor), "memory.gpu_memory_gib = 45");
    EXPECT_EQ(undo_text(factor), "--set memory.gpu_memory_gib=80");
    db::analysis::Factor const version{.name = "nccl", .good = "2.10", .bad = "2.20"};
    EXPECT_EQ(factor_text(version), "nccl = 2.20");
}

}  // namespace
}  // namespace osora::cli
