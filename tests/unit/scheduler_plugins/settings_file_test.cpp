// Reader of docs/rfc/003's files: what the C++ writer makes it reads, and it refuses the rest.
#include "base/files/files.hpp"
#include "tests/unit/scheduler_plugins/settings.hpp"
#include "topology/nccl/srun_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace osora::spank {
namespace {

using testing::HasSubstr;
std::string const kBoot = "0f1e2d3c-1111-2222-3333-444455556666";
std::string const kHead = "osora-node 1\nboot " + kBoot + "\n";

TEST(SettingsFile, ReadsWhatTheWriterMakes) {
    topology::NodeProfile profile;
    profile.boot_id = kBoot;
    profile.env = {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"},
                   {"NCCL_SOCKET_IFNAME", "bond0"},
                   {"UCX_TLS", "a b  c=$d\"'"},
                   {"NCCL_EMPTY", ""}};
    profile.cpus = {"0-2,5", "", "3"};
    auto const text = topology::encode_node_profile(profile);
    ASSERT_TRUE(text.has_value());
    auto const parsed = parse(*text);
    ASSERT_TRUE(parsed.good) << parsed.error;
    std::map<std::string, std::string> env;
    for (std::size_t i = 0; i < parsed.settings->env_count; ++i) {
        env[parsed.settings->env[i].name] = parsed.settings->env[i].value;
    }
    EXPECT_EQ(env, profile.env);
    EXPECT_EQ(parsed.settings->boot_id, kBoot);
    char cpus[64];
    osora_format_cpus(&parsed.settings->cpus[0], cpus, sizeof cpus);
    EXPECT_STREQ(cpus, "0-2,5");
    EXPECT_EQ(CPU_COUNT(&parsed.settings->cpus[1]), 0);

    auto const plan = topology::encode_srun_plan({{{"NCCL_ALGO", "Ring"}}, 64, 8});
    auto const read = parse(*plan, OSORA_PLAN);
    ASSERT_TRUE(read.good) << read.error;
    EXPECT_EQ(read.settings->tasks, 64);
    EXPECT_EQ(read.settings->tasks_per_node, 8);
}

TEST(SettingsFile, WriterRefusesWhatTheReaderWould) {
    EXPECT_TRUE(topology::encode_srun_plan({{{"LD_PRELOAD", "x"}}}).has_error());
    EXPECT_TRUE(topology::encode_srun_plan({{{"NCCL_ALGO", "a\nenv PATH /"}}}).has_error());
    EXPECT_TRUE(topology::encode_srun_plan({{{"NCCL_X", std::string(5000, 'x')}}}).has_error());
    EXPECT_TRUE(topology::encode_node_profile({"not a boot", {}, {}}).has_error());
    EXPECT_TRUE(topology::encode_node_profile({kBoot, {}, {"0\nend"}}).has_error());
}

struct Refused {
    std::string text;
    std::string why;
};

TEST(SettingsFile, RefusesWithTheLineAndTheReason) {
    std::vector<Refused> const cases{
        {"", "no 'end'"},
        {"osora-node 2\nend\n", "line 1: not 'osora-node 1'"},
        {"osora-plan 1\nend\n", "line 1: not 'osora-node 1'"},
        {kHead, "no 'end'"},
        {kHead + "end", "line 3: cut off"},
        {"osora-node 1\nend\n", "no 'boot'"},
        {kHead + "end\nenv NCCL_A 1\n", "line 4: something follows"},
        {kHead + "env LD_PRELOAD /tmp/x.so\nend\n", "line 3: not a variable of NCCL"},
        {kHead + "env PATH /tmp\nend\n", "not a variable"},
        {kHead + "env NCCL_ 1\nend\n", "not a variable"},
        {kHead + "env NCCL_a 1\nend\n", "not a variable"},
        {kHead + "env NCCL_" + std::string(60, 'A') + " 1\nend\n", "not a variable"},
        {kHead + "env NCCL_A\nend\n", "env NAME VALUE"},
        {kHead + "env NCCL_A 1\nenv NCCL_A 2\nend\n", "line 4: set twice"},
        {kHead + "env NCCL_A " + std::string(4096, 'x') + "\nend\n", "too long"},
        {kHead + "env NCCL_A \x01\nend\n", "line 3: a byte"},
        {kHead + "env NCCL_A \xc3\xa9\nend\n", "line 3: a byte"},
        {kHead + std::string("env NCCL_A a\0b\nend\n", 19), "line 3: a byte"},
        {kHead + "cpus 64 0\nend\n", "cpus LOCAL_RANK LIST"},
        {kHead + "cpus 0 0-\nend\n", "not a CPU list"},
        {kHead + "cpus 0 3-1\nend\n", "not a CPU list"},
        {kHead + "cpus 0 1024\nend\n", "not a CPU list"},
        {kHead + "cpus 0 99999999999999999999\nend\n", "not a CPU list"},
        {kHead + "cpus 0 1,\nend\n", "not a CPU list"},
        {kHead + "cpus 0 1 \nend\n", "not a CPU list"},
        {kHead + "cpus 0 1\ncpus 0 2\nend\n", "set twice"},
        {kHead + "boot " + kBoot + "\nend\n", "set twice"},
        {kHead + "tasks 4\nend\n", "unknown keyword"},
        {kHead + "\nend\n", "KEYWORD VALUE"}};
    for (auto const& each : cases) {
        auto const parsed = parse(each.text);
        EXPECT_FALSE(parsed.good) << each.text;
        EXPECT_THAT(parsed.error, HasSubstr(each.why)) << each.text;
    }
    std::string many = kHead;
    for (int i = 0; i <= OSORA_ENV_MAX; ++i) many += "env NCCL_" + std::to_string(i) + " 1\n";
    EXPECT_THAT(parse(many + "end\n").error, HasSubstr("too many"));
    EXPECT_THAT(parse("osora-plan 1\ntasks 0\nend\n", OSORA_PLAN).error, HasSubstr("above 0"));
    EXPECT_THAT(parse("osora-plan 1\nboot x\nend\n", OSORA_PLAN).error, HasSubstr("unknown"));
}

class OnDisk : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-settings-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        write("node", kHead + "end\n");
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write(std::string const& name, std::string const& text) const {
        ASSERT_TRUE(write_file_atomic(folder_ / name, text).has_value());
    }
    osora_load load(std::string const& name, uid_t uid = ::getuid()) {
        auto const path = (folder_ / name).string();
        return osora_load_settings(OSORA_NODE_PROFILE, path.c_str(), uid, settings_.get(), error_);
    }

    std::filesystem::path folder_;
    std::unique_ptr<osora_settings> settings_ = std::make_unique<osora_settings>();
    char error_[OSORA_ERROR_MAX] = "";
};

TEST_F(OnDisk, LoadsAFileThatOnlyItsOwnerWrites) {
    EXPECT_EQ(load("node"), OSORA_LOADED) << error_;
    EXPECT_EQ(load("none"), OSORA_ABSENT);
    EXPECT_EQ(load("none/node"), OSORA_ABSENT);
}

TEST_F(OnDisk, RefusesWhatOthersCouldHaveWritten) {
    for (mode_t const mode : {0664, 0646, 0666}) {
        ASSERT_EQ(::chmod((folder_ / "node").c_str(), mode), 0);
        EXPECT_EQ(load("node"), OSORA_REFUSED);
        EXPECT_THAT(error_, HasSubstr("writable by others"));
    }
    ASSERT_EQ(::chmod((folder_ / "node").c_str(), 0644), 0);
    ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
    EXPECT_EQ(load("node"), OSORA_REFUSED);
    EXPECT_THAT(error_, HasSubstr("its folder is writable by others"));
    ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0) << "as /tmp: others cannot replace it";
    EXPECT_EQ(load("node"), OSORA_LOADED) << error_;
    if (::getuid() != 0) return;  // giving a file away takes root
    ASSERT_EQ(::chown((folder_ / "node").c_str(), 12345, 0), 0);
    EXPECT_EQ(load("node"), OSORA_REFUSED);
    EXPECT_THAT(error_, HasSubstr("neither yours nor root's"));
    EXPECT_EQ(load("node", 12345), OSORA_LOADED) << error_;
    ASSERT_EQ(::chown(folder_.c_str(), 54321, 0), 0);
    EXPECT_EQ(load("node", 12345), OSORA_REFUSED);
}

TEST_F(OnDisk, RefusesWhatIsNotAPlainFile) {
    std::filesystem::create_symlink("node", folder_ / "link");
    EXPECT_EQ(load("link"), OSORA_REFUSED);
    EXPECT_THAT(error_, HasSubstr("symbolic link"));
    std::filesystem::create_directory(folder_ / "folder");
    EXPECT_EQ(load("folder"), OSORA_REFUSED);
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(load("pipe"), OSORA_REFUSED) << "and does not wait for a writer";
    write("large", kHead + std::string(OSORA_FILE_MAX, '#') + "\nend\n");
    EXPECT_EQ(load("large"), OSORA_REFUSED);
    EXPECT_THAT(error_, HasSubstr("larger than"));
    EXPECT_EQ(load(std::string(300, 'x')), OSORA_REFUSED);
}

TEST(Step, FirstHostOfALine) {
    auto const first = [](char const* list) {
        char host[64];
        return osora_first_host(list, host, sizeof host) ? std::string(host) : "none";
    };
    // As `scontrol show hostnames` expands them.
    EXPECT_EQ(first("n0"), "n0");
    EXPECT_EQ(first("n[0-3,7]"), "n0");
    EXPECT_EQ(first("gpu-[007-120]"), "gpu-007");
    EXPECT_EQ(first("login,n[0-3]"), "login");
    EXPECT_EQ(first("r[3-4]n[08-09]-ib,x"), "r3n08-ib");
    EXPECT_EQ(first(""), "none");
    EXPECT_EQ(first("n[3"), "n3");
    EXPECT_EQ(first(std::string(100, 'x').c_str()), "none");
    EXPECT_EQ(first(("[" + std::string(100, '1') + "]").c_str()), "none");
}

TEST(Step, PortsAreInTheirRangeAndDiffer) {
    std::map<int, int> seen;
    for (unsigned job = 1; job <= 1000; ++job) {
        for (unsigned step = 0; step < 10; ++step) ++seen[osora_master_port(job, step)];
    }
    EXPECT_GE(seen.begin()->first, 20000);
    EXPECT_LE(seen.rbegin()->first, 29999);
    // 10,000 draws from 10,000 ports: 1 - 1/e of them are seen.
    EXPECT_NEAR(static_cast<double>(seen.size()), 6321, 150);
}

TEST(Step, Paths) {
    auto const expand = [](char const* pattern) {
        char path[32];
        return osora_expand_path(pattern, 7001, "n3", path, sizeof path) ? std::string(path) : "";
    };
    EXPECT_EQ(expand("/tmp/osora-%u/%n"), "/tmp/osora-7001/n3");
    EXPECT_EQ(expand("/run/100%"), "/run/100%");
    EXPECT_EQ(expand("/a/very/long/path/that/does/not/fit"), "");
    EXPECT_EQ(expand("/a/very/long/path/that/fits-%n%n"), "") << "32 bytes and no room for a zero";
}

}  // namespace
}  // namespace osora::spank
