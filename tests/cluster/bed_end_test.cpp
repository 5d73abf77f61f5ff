// When the process of a bed is killed, no process, mount or network of it remains.
#include "base/files/files.hpp"
#include "base/process/descendants.hpp"
#include "tests/cluster/bed.hpp"

#include <unistd.h>

#include <set>

namespace osora::cluster {
namespace {

namespace fs = std::filesystem;

std::string network_of(fs::path const& process) {
    std::error_code gone;
    return fs::read_symlink(process / "ns/net", gone).string();
}

/// The network namespaces that have processes.
std::set<std::string> networks_in_use() {
    std::set<std::string> networks;
    for (auto const& entry : fs::directory_iterator("/proc")) {
        if (std::isdigit(entry.path().filename().string()[0]) != 0) {
            networks.insert(network_of(entry.path()));
        }
    }
    return networks;
}

TEST(BedEnd, KilledItLeavesNothing) {
    if (auto const missing = Bed::missing(); !missing.empty()) GTEST_SKIP() << missing;
    auto bed = Bed::start({.nodes = 3});
    ASSERT_TRUE(bed.has_value()) << bed.error().message;
    auto job = (*bed)->start_on(
        "ctl", {"srun", "-N3", "/bin/bash", "-c", "trap '' TERM HUP; echo up; sleep 1000"});
    ASSERT_TRUE(eventually([&] { return job.out() == "up\nup\nup\n"; })) << job.err();

    int const top = (*bed)->process().id.pid;
    auto const below = descendants_of(top);
    std::set<std::string> networks;
    for (auto const& each : below) {
        networks.insert(network_of(fs::path("/proc") / std::to_string(each.pid)));
    }
    EXPECT_GT(below.size(), 15u);
    EXPECT_EQ(networks.size(), 5u) << "3 nodes, ctl and the switches";

    ASSERT_EQ(::kill(top, SIGKILL), 0);
    auto const all_gone = [&] {
        return std::none_of(below.begin(), below.end(), [](auto& each) { return is_alive(each); });
    };
    EXPECT_TRUE(eventually(all_gone)) << "processes are left";
    auto const used = networks_in_use();
    for (auto const& each : networks) EXPECT_EQ(used.count(each), 0u) << each;
    EXPECT_EQ(read_file("/proc/self/mountinfo")->find((*bed)->folder()), std::string::npos);
}

TEST(BedEnd, RefusesAFolderThatIsNotItsOwn) {
    if (auto const missing = Bed::missing(); !missing.empty()) GTEST_SKIP() << missing;
    auto bed = Bed::start({.nodes = 1, .slurm = false, .sshd = false});
    ASSERT_TRUE(bed.has_value()) << bed.error().message;
    auto const other = (*bed)->folder() / "other";
    fs::create_directory(other);
    ASSERT_TRUE(write_file_atomic(other / "precious", "x").has_value());
    auto const refused = (*bed)->run("n0", {OSORA_SOURCE_DIR "/tests/cluster/bed", "serve", other});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, testing::HasSubstr("is not empty"));
    EXPECT_TRUE(fs::exists(other / "precious"));
}

}  // namespace
}  // namespace osora::cluster
