// Evidence from recorded machines: healthy ones are healthy for all rules, and what is changed in a
// tree is found.
#include "topology/doctor/collect.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/doctor/rule.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology::doctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::string> rules_above_info(Evidence const& evidence) {
    std::vector<std::string> rules;
    for (auto const& each : diagnose(evidence).findings) {
        if (each.severity != Severity::info) rules.push_back(each.rule + ": " + each.title);
    }
    return rules;
}

Evidence read(fs::path const& root) {
    auto evidence = read_evidence(root);
    EXPECT_TRUE(evidence.has_value()) << evidence.error().message;
    return evidence.has_value() ? *evidence : Evidence{};
}

class Recorded : public ::testing::TestWithParam<char const*> {};

TEST_P(Recorded, HealthyMachinesHaveNoFinding) {
    auto const tree = tests::RecordedTree::named(GetParam());
    EXPECT_THAT(rules_above_info(read(tree.root())), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Machines, Recorded,
                         ::testing::Values("dgx_a100", "hgx_h100", "pcie_3090", "cpu_server",
                                           "cloud_vm"));

TEST(Collect, WhatIsRecordedBesideATree) {
    auto const tree = tests::RecordedTree::named("hgx_h100");
    tree.write("proc/self/limits",
               "Max locked memory  65536 65536 bytes\nMax open files 1 9 files\n");
    tree.write("proc/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n");
    tree.write("proc/modules", "mlx5_ib 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
    tree.write("proc/cmdline", "ro intel_iommu=on\n");
    tree.write("environ", "HOME=/home/a\nNCCL_ALGO=Tree\nCUDA_VERSION=13.0.1\n");
    tree.write("etc/profile.d/nccl.sh", "#!/bin/sh\nexport NCCL_ALGO=Tree\n");
    tree.write("home/a/.nccl.conf", "NCCL_P2P_DISABLE=1\n");
    tree.write("versions.txt", "nccl 2.20.3\nlibtorch 2.3.0\n");
    tree.write("lspci.txt", "16:1c.0 PCI bridge: Broadcom\n\t\tACSCtl:\tSrcValid+ ReqRedir+\n");
    tree.write("rank0.log", "hgx-h100:1:2 [0] NCCL INFO Using network Socket\n");
    tree.write("dmesg.txt", "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.\n");
    auto const evidence = read(tree.root());
    ASSERT_EQ(evidence.nodes.size(), 1u);
    auto const& node = evidence.nodes[0];
    EXPECT_EQ(node.name, "hgx-h100");
    EXPECT_EQ(node.memlock_bytes, 65536);
    EXPECT_EQ(node.open_files, 9);
    EXPECT_EQ(node.shm_bytes, 64 << 20);
    EXPECT_EQ(node.iommu, Iommu::translated);
    EXPECT_EQ(node.versions.at("driver"), "550.54.15");
    EXPECT_EQ(node.versions.at("cuda"), "13.0.1");
    EXPECT_EQ(node.versions.at("nccl"), "2.20.3");
    std::set<std::string> rules;
    for (auto const& each : diagnose(evidence).findings) {
        if (each.severity != Severity::info) rules.insert(each.rule);
    }
    EXPECT_THAT(rules, testing::UnorderedElementsAre(
                           "memlock", "open-files", "shm", "no-gpudirect", "iommu", "forced-choice",
                           "inherited", "driver", "acs", "tcp-instead-of-rdma", "gpu-health"));
}

TEST(Collect, AnImagesNoteOfItsNcclIsNeitherAVersionNorASetting) {
    tests::RecordedTree const tree("[proc/sys/kernel]\nhostname = a\n");
    tree.write("environ",
               "NCCL_VERSION=2.28.3-1\nNV_LIBNCCL_PACKAGE=libnccl2\nCUDA_VERSION=13.0.1\n");
    auto const evidence = read(tree.root());
    ASSERT_EQ(evidence.nodes.size(), 1u);
    EXPECT_FALSE(evidence.nodes[0].versions.contains("nccl"));
    EXPECT_EQ(evidence.nodes[0].versions.at("cuda"), "13.0.1");
    EXPECT_TRUE(evidence.nodes[0].settings.empty());
}

TEST(Collect, SettingsOfALoginWhereNoEnvironmentWasRecorded) {
    tests::RecordedTree const tree("[proc/sys/kernel]\nhostname = a\n");
    tree.write("etc/profile.d/nccl.sh", "export NCCL_IB_TIMEOUT=22\nexport NCCL_PROTO=LL128\n");
    auto const evidence = read(tree.root());
    ASSERT_EQ(evidence.nodes.size(), 1u);
    auto const diagnosis = diagnose(evidence);
    ASSERT_FALSE(diagnosis.findings.empty());
    EXPECT_EQ(diagnosis.findings[0].rule, "forced-choice");
    EXPECT_THAT(diagnosis.findings[0].seen, HasSubstr("/etc/profile.d/nccl.sh:2"));
}

TEST(Collect, AFolderOfNodes) {
    auto const good = tests::RecordedTree::named("hgx_h100");
    auto const bad = tests::RecordedTree::named("hgx_h100");
    for (auto const& entry : fs::recursive_directory_iterator(bad.root() / "sys/devices")) {
        bool const is_nic =
            entry.path().string().find("/0000:17:00.0/current_link_") != std::string::npos;
        if (!is_nic) continue;
        auto const path = fs::relative(entry.path(), bad.root()).string();
        bad.write(path, path.ends_with("speed") ? "8.0 GT/s PCIe\n" : "8\n");
    }
    tests::RecordedTree const all;
    fs::create_directories(all.root() / "nodes");
    for (int i : {1, 2, 3, 10}) {
        fs::create_directory_symlink(i == 3 ? bad.root() : good.root(),
                                     all.root() / "nodes" / fmt::format("n{}", i));
    }
    all.write("slurm/config.txt", "AuthInfo                = cred_expire=300\nJobRequeue = 1\n");
    all.write("nccl.log", "n10:1:2 [0] NCCL INFO NET/Socket : Using [0]virbr0:192.168.1.1<0>\n");
    auto const evidence = read(all.root());
    ASSERT_EQ(evidence.nodes.size(), 4u);
    EXPECT_EQ(evidence.nodes[3].name, "n10");
    ASSERT_TRUE(evidence.slurm);
    EXPECT_EQ(evidence.slurm->cred_expire_s, 300);
    auto const diagnosis = diagnose(evidence);
    ASSERT_GE(diagnosis.findings.size(), 3u);
    std::vector<std::string> said;
    for (auto const& each : diagnosis.findings) said.push_back(each.where + " " + each.rule);
    EXPECT_THAT(said,
                testing::IsSupersetOf({"n3 pcie-downgrade", "n10 wrong-interface", "all requeue"}));
    EXPECT_THAT(rules_above_info(evidence), testing::SizeIs(3));
}

TEST(Collect, ATreeWhoseLinksBecameFolders) {
    tests::RecordedTree const tree(
        "[sys/class/infiniband/mlx5_3/ports/1]\nrate = 400 Gb/sec (4X NDR)\nstate = 4: ACTIVE\n"
        "link_layer = InfiniBand\n"
        "[sys/class/infiniband/mlx5_3/device]\ncurrent_link_speed = 8.0 GT/s PCIe\n"
        "current_link_width = 8\nmax_link_speed = 32.0 GT/s PCIe\nmax_link_width = 16\n");
    auto const diagnosis = diagnose(read(tree.root()));
    ASSERT_EQ(diagnosis.count(Severity::fault), 1);
    EXPECT_EQ(diagnosis.findings[0].title, "mlx5_3 trained down to PCIe gen3 x8 (max gen5 x16)");
}

TEST(Collect, BadFolders) {
    tests::RecordedTree const empty;
    EXPECT_EQ(read_evidence(empty.root()).error().code, Errc::not_found);
    EXPECT_EQ(read_evidence(empty.root() / "missing").error().code, Errc::invalid_input);
    empty.write("file", "x");
    EXPECT_EQ(read_evidence(empty.root() / "file").error().code, Errc::invalid_input);
}

TEST(Collect, GarbageInEveryFileIsNotKnown) {
    auto const tree = tests::RecordedTree::named("pcie_3090");
    for (auto const& entry : fs::recursive_directory_iterator(tree.root())) {
        if (!entry.is_regular_file() || entry.is_symlink()) continue;
        tree.write(fs::relative(entry.path(), tree.root()).string(),
                   std::string("\xff\x00-1e999 nonsense", 18));
    }
    EXPECT_THAT(rules_above_info(read(tree.root())), testing::IsEmpty());
}

// How long it takes is measured by bench/analysis.
TEST(Collect, HundredsOfNodes) {
    auto const tree = tests::RecordedTree::named("hgx_h100");
    tests::RecordedTree const all;
    for (int i = 0; i < 256; ++i) {
        fs::create_directory_symlink(tree.root(), all.root() / fmt::format("n{}", i));
    }
    EXPECT_EQ(diagnose(read(all.root())).nodes, 256);
}

}  // namespace
}  // namespace osora::topology::doctor
