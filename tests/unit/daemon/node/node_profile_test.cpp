#include "daemon/node/node_profile.hpp"

#include "base/files/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace osora::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char const* kBoot = "0f1e2d3c-1111-2222-3333-444455556666";

/// Two sockets of four cores, a GPU at each, the first one at the second.
ProfileFacts facts() {
    ProfileFacts made;
    made.boot_id = kBoot;
    made.whole_machine = true;
    for (int cpu = 0; cpu < 8; ++cpu) made.node.cores.push_back({{cpu}, cpu / 4, cpu / 4});
    made.node.gpus = {{"0", "GPU-0", {4, 5, 6, 7}}, {"1", "GPU-1", {0, 1, 2, 3}}};
    made.host = "n2.cluster";
    made.settings = {{"NCCL_IB_HCA", "=mlx5_0", "facts", ""},
                     {"NCCL_DEBUG", "WARN", "run file: run.toml:3", ""},
                     {"NCCL_SOCKET_IFNAME", "=eth1", "probe", "", "P", {"n7"}},
                     {"NCCL_SOCKET_IFNAME", "=eth0", "probe", "", "P", {"n1", "n2"}},
                     {"PATH", "/evil", "facts", ""}};
    return made;
}

class NodeProfile : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "osora-profile-XXXXXX";
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string folder_;
};

TEST_F(NodeProfile, HoldsWhatIsTrueForEveryRun) {
    auto const profile = profile_of(facts());
    EXPECT_THAT(profile.env, UnorderedElementsAre(Pair("NCCL_IB_HCA", "=mlx5_0"),
                                                  Pair("NCCL_SOCKET_IFNAME", "=eth0")));
    EXPECT_THAT(profile.cpus, ElementsAre("4-7", "0-3"));
}

TEST_F(NodeProfile, NamesNoCoresWhereTheAgentHasOnlySome) {
    auto some = facts();
    some.whole_machine = false;
    EXPECT_THAT(profile_of(some).cpus, IsEmpty());
    auto without = facts();
    without.node.gpus.clear();
    EXPECT_THAT(profile_of(without).cpus, IsEmpty());
}

TEST_F(NodeProfile, IsWrittenOnceAndAgainWhenItChanges) {
    auto profile = profile_of(facts());
    EXPECT_TRUE(*write_profile(folder_, profile));
    EXPECT_FALSE(*write_profile(folder_, profile));
    EXPECT_EQ(*read_file(folder_ + "/node"),
              std::string("osora-node 1\nboot ") + kBoot +
                  "\nenv NCCL_IB_HCA =mlx5_0\nenv NCCL_SOCKET_IFNAME =eth0\n"
                  "cpus 0 4-7\n"
                  "cpus 1 0-3\nend\n");
    struct stat file {};
    ASSERT_EQ(::stat((folder_ + "/node").c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0644u);
    profile.env.clear();
    EXPECT_TRUE(*write_profile(folder_, profile));
}

TEST_F(NodeProfile, OnlyWhereAFolderOfThisUserWaitsForIt) {
    EXPECT_FALSE(*write_profile(folder_ + "/none", profile_of(facts())));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/none"));
    ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
    auto const refused = write_profile(folder_, profile_of(facts()));
    ASSERT_TRUE(refused.has_error());
    EXPECT_THAT(refused.error().message, HasSubstr("everybody may write there"));
    ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
    std::string const link = folder_ + "-link";
    std::filesystem::create_symlink(folder_, link);
    EXPECT_TRUE(write_profile(link, profile_of(facts())).has_error());
    std::filesystem::remove(link);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/node"));
}

TEST_F(NodeProfile, WhereThePlugInLooks) {
    EXPECT_EQ(default_profile_folder(0), "/run/osora");
    EXPECT_EQ(default_profile_folder(1000), "/tmp/osora-1000");
}

}  // namespace
}  // namespace osora::daemon
