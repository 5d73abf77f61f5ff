// What crosses a shell on another host, and what is sent there as data.
#include "daemon/backends/ssh/remote_commands.hpp"
#include "base/process/capture.hpp"
#include "daemon/backends/ssh/environment_to_send.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace osora::daemon {
namespace {

using testing::ElementsAre;

TEST(SshRemoteCommands, AnyPathSurvivesAShell) {
    EXPECT_EQ(run_text("/opt/osora/bin/osorad", "agent"), "exec '/opt/osora/bin/osorad' agent");
    EXPECT_EQ(run_text("/it's/osorad", "sweep"), "exec '/it'\\''s/osorad' sweep");
    auto const folder = std::filesystem::path(testing::TempDir()) /
                        ("it's $HOME `id` \\ \"%s\" " + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    auto const program = folder / "osorad";
    std::ofstream(program) << "#!/bin/sh\necho \"here: $1\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    for (auto const* shell : {"/bin/sh", "/bin/bash"}) {
        SpawnOptions options;
        options.program = shell;
        options.arguments = {"-c", run_text(program, "agent")};
        auto const ended = run_captured(options, std::chrono::minutes(1));
        ASSERT_TRUE(ended.has_value()) << ended.error().message;
        EXPECT_EQ(ended->out, "here: agent\n") << shell;
    }
    std::filesystem::remove_all(folder);
}

TEST(SshRemoteCommands, OnlyWeMayWriteWhereTheProgramIsCopiedTo) {
    namespace fs = std::filesystem;
    auto const home = fs::path(testing::TempDir()) / ("home" + std::to_string(::getpid()));
    auto const folder = home / ".cache/osora/bin";
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::all);  // from an earlier version, or with umask 0
    SpawnOptions options;
    options.program = "/bin/sh";
    options.arguments = {"-c", "umask 0; " + copy_text("abc", 0) + " </dev/null"};
    options.environment = {"PATH=/usr/bin:/bin", "HOME=" + home.string()};
    auto const ended = run_captured(options, std::chrono::minutes(1));
    ASSERT_TRUE(ended.has_value()) << ended.error().message;
    for (auto const& each :
         {home / ".cache/osora", folder, folder / "abc", folder / "abc/osorad"}) {
        EXPECT_EQ(fs::status(each).permissions(), fs::perms::owner_all) << each << ended->err;
    }
    fs::remove_all(home);
}

TEST(SshRemoteCommands, TheHashIsThatOfTheContent) {
    // printf abc | sha256sum
    EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea");
}

TEST(EnvironmentToSend, VariablesOfThisMachineAreNotSent) {
    Environment const all{"PATH=/bin",
                          "HOME=/home/x",
                          "SSH_CONNECTION=1",
                          "NCCL_IB_HCA=a,b",
                          "SLURM_JOB_ID=5",
                          "LD_LIBRARY_PATH=/opt",
                          "XDG_SESSION_ID=3",
                          "XDG_CACHE_HOME=/c",
                          "HOSTNAME=laptop",
                          "ODD=\n\xff '\"$x,",
                          "OSORA_RUN_UUID=old",
                          "HOMEBREW=kept",
                          "broken",
                          "=also"};
    std::vector<std::string> sent;
    for (auto const& each : environment_to_send(all)) sent.push_back(each.value);
    EXPECT_THAT(sent, ElementsAre("PATH=/bin", "NCCL_IB_HCA=a,b", "LD_LIBRARY_PATH=/opt",
                                  "XDG_CACHE_HOME=/c", "ODD=\n\xff '\"$x,", "HOMEBREW=kept"));
}

}  // namespace
}  // namespace osora::daemon
