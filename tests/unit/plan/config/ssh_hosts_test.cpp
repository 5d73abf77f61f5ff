#include "plan/config/ssh_hosts.hpp"

#include "plan/config/config_files.hpp"
#include "plan/config/cross_checks.hpp"
#include "plan/config/ssh_checks.hpp"
#include "resolve.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string error_of(std::string_view entry) {
    auto const host = parse_ssh_host(entry);
    return host.has_error() ? host.error().message : "no error";
}

SshHost host_of(std::string_view entry) {
    auto host = parse_ssh_host(entry);
    EXPECT_TRUE(host.has_value()) << entry << ": " << error_of(entry);
    return host.has_value() ? *host : SshHost{};
}

TEST(SshHosts, EntriesAreRead) {
    EXPECT_EQ(host_of("n1"), (SshHost{.host = "n1", .user = ""}));
    EXPECT_EQ(host_of("gpu-7.cluster.example slots=8 port=2222 user=eva"),
              (SshHost{.host = "gpu-7.cluster.example", .user = "eva", .port = 2222, .slots = 8}));
    EXPECT_EQ(host_of(" eva@n1:2222\tslots=4\r"),
              (SshHost{.host = "n1", .user = "eva", .port = 2222, .slots = 4}));
    EXPECT_EQ(host_of("10.0.0.7:22"), (SshHost{.host = "10.0.0.7", .user = ""}));
}

TEST(SshHosts, AddressesOfVersionSix) {
    EXPECT_EQ(host_of("fd00::7"), (SshHost{.host = "fd00::7", .user = ""}));
    EXPECT_EQ(host_of("::1 port=23"), (SshHost{.host = "::1", .user = "", .port = 23}));
    EXPECT_EQ(host_of("[fd00::7]"), (SshHost{.host = "fd00::7", .user = ""}));
    EXPECT_EQ(host_of("eva@[fe80::1%eth0]:2222"),
              (SshHost{.host = "fe80::1%eth0", .user = "eva", .port = 2222}));
}

TEST(SshHosts, ErrorsNameTheWordAndTheNearestValidValue) {
    EXPECT_EQ(error_of("n1 slots=0"), "slots=0: must be 1 to 1024; nearest valid: 1");
    EXPECT_EQ(error_of("n1 port=70000"), "port=70000: must be 1 to 65535; nearest valid: 65535");
    EXPECT_EQ(error_of("n1 port=99999999999999999999"),
              "port=99999999999999999999: must be 1 to 65535; nearest valid: 65535");
    EXPECT_EQ(error_of("n1 port=-99999999999999999999"),
              "port=-99999999999999999999: must be 1 to 65535; nearest valid: 1");
    EXPECT_EQ(error_of("n1 slots=8x"), "slots=\"8x\": expected a number");
    EXPECT_EQ(error_of("n1 slots="), "slots=\"\": expected a number");
    EXPECT_EQ(error_of("n1 slot=8"), "unknown setting \"slot\"; did you mean slots?");
    EXPECT_EQ(error_of("n1 weight=8"), "unknown setting \"weight\"; known: slots, port, user");
    EXPECT_EQ(error_of("n1 n2"), "\"n2\": expected slots=N, port=N or user=NAME");
    EXPECT_EQ(error_of("n1:22 port=23"), "port is given twice");
    EXPECT_EQ(error_of("eva@n1 user=bob"), "user is given twice");
    EXPECT_EQ(error_of("[fd00::1"), "\"[fd00::1\": ']' is missing");
    EXPECT_EQ(error_of("[fd00::1]22"), "\"[fd00::1]22\": expected :PORT behind ']'");
    EXPECT_EQ(error_of(" \t"), "no host is named");
}

TEST(SshHosts, NamesThatWouldMeanSomethingToAShellAreRefused) {
    EXPECT_EQ(error_of("-oProxyCommand=x"), "\"-oProxyCommand=x\" is no host name");
    EXPECT_EQ(error_of("n1;reboot"), "\"n1;reboot\" is no host name");
    EXPECT_EQ(error_of("n$(id)"), "\"n$(id)\" is no host name");
    EXPECT_EQ(error_of("n1 user=-x"), "\"-x\" is no user name");
    EXPECT_EQ(error_of("@n1"), "\"\" is no user name");
    EXPECT_EQ(error_of(std::string(300, 'n')),
              "\"" + std::string(40, 'n') + "...\" is no host name");
    EXPECT_EQ(error_of("n\xff\x01"), "\"n??\" is no host name");
}

TEST(SshHosts, AFileHasCommentsAndBlankLinesAndNoHostTwice) {
    auto const hosts = parse_host_file(
        "# rack 1\n\nn1 slots=8  # left\n   \nN1\nn1 port=23\nn2 slot=8\n\nn1 slots=4");
    ASSERT_EQ(hosts.hosts.size(), 2u);
    EXPECT_EQ(hosts.hosts[0], (SshHost{.host = "n1", .user = "", .slots = 8, .line = 3}));
    EXPECT_EQ(hosts.hosts[1], (SshHost{.host = "n1", .user = "", .port = 23, .line = 6}))
        << "two daemons of one machine are two hosts";
    std::vector<std::string> problems;
    for (auto const& each : hosts.problems) {
        problems.push_back(std::to_string(each.line) + ": " + each.message);
    }
    EXPECT_THAT(problems, ElementsAre("5: N1 is given twice (also in line 3)",
                                      "7: unknown setting \"slot\"; did you mean slots?",
                                      "9: n1 is given twice (also in line 3)"));
}

std::vector<std::string> problems_of_file(std::string_view text) {
    std::vector<std::string> problems;
    for (auto const& each : parse_host_file(text).problems) {
        problems.push_back(std::to_string(each.line) + ": " + each.message);
    }
    return problems;
}

TEST(SshHosts, FilesOfOtherLaunchersAreReadOrSaidToBeOtherwise) {
    EXPECT_EQ(host_of("node-a slots=2 max_slots=4"), host_of("node-a slots=2"));
    EXPECT_EQ(host_of("node-a slots = 2 max-slots=4"), host_of("node-a slots=2"));
    EXPECT_EQ(host_of("node-a cpu=2 username=eva"), host_of("eva@node-a slots=2"));
    EXPECT_EQ(host_of("user00@10.0.0.1 slots=8"),
              (SshHost{.host = "10.0.0.1", .user = "user00", .slots = 8}));
    EXPECT_EQ(error_of("node-a slots=2 max_slots=x"), "max_slots=\"x\": expected a number");
    EXPECT_EQ(error_of("node-a slots=2 cpu=2"), "slots is given twice");
    EXPECT_EQ(
        error_of("node-a:2"),
        "\"node-a:2\": 2 is unlikely to be a port of sshd; for 2 slots, as MPICH and Horovod write "
        "them, write \"node-a slots=2\", for that port \"node-a port=2\"");
    EXPECT_EQ(host_of("node-a port=2").port, 2);
    EXPECT_EQ(host_of("node-a:222").port, 222);
    EXPECT_EQ(host_of("node-a:2222").port, 2222);
    EXPECT_EQ(error_of("node-a:2:user=eva"), "\"node-a:2:user=eva\" is no host name");
    EXPECT_EQ(error_of("node-a:2,node-b:2"),
              "\"node-a:2,node-b:2\": one host a line, as \"n1 slots=8\"");
    EXPECT_EQ(error_of("[gpu]"),
              "\"[gpu]\": brackets hold an IPv6 address; groups of hosts are not known");
    EXPECT_EQ(error_of("f%80::1%eth0"), "\"f%80::1%eth0\" is no host name") << "a zone of no IPv6";
    EXPECT_EQ(error_of("node-a 2"), "2: write slots=2");
    EXPECT_EQ(error_of("worker-1 lots=8"), "unknown setting \"lots\"; did you mean slots?");
}

TEST(SshHosts, GroupsOfHostsAreExpanded) {
    auto const found = parse_host_file(
        "\xEF\xBB\xBF"
        "eva@n[08-10]:222 slots=8\r\nm[1,3]\n");
    ASSERT_THAT(found.problems, IsEmpty());
    std::vector<std::string> entries;
    for (auto const& each : found.hosts) entries.push_back(to_entry(each));
    EXPECT_THAT(entries,
                ElementsAre("n08 slots=8 port=222 user=eva", "n09 slots=8 port=222 user=eva",
                            "n10 slots=8 port=222 user=eva", "m1", "m3"));
    EXPECT_THAT(problems_of_file("n[1-2]\nn2\nn[3-1]\n"),
                ElementsAre("2: n2 is given 2 times (also in line 1); for 2 slots write \"n2 "
                            "slots=2\" once",
                            "3: host list 'n[3-1]': '3-1' runs backwards"));
}

TEST(SshHosts, HugeGroupsAreRefusedOnce) {
    std::string text;
    for (char each = 'a'; each <= 'z'; ++each) text += fmt::format("{}[1-65536]\n", each);
    EXPECT_THAT(problems_of_file(text), testing::SizeIs(25));
    EXPECT_EQ(problems_of_file(text).front(), "2: more than 65536 hosts");
    EXPECT_THAT(problems_of_file("n[1-9]\nn[1-9]\n"), testing::SizeIs(1));
}

TEST(SshHosts, WordsOfOtherLaunchersForSlots) {
    EXPECT_EQ(host_of("node-a np=8"), host_of("node-a slots=8"));  // TORQUE
    EXPECT_EQ(error_of("node-a gpus=8"), "unknown setting \"gpus\"; write slots=8");
}

TEST(SshHosts, ALineForEachSlotIsAnsweredWithHowToWriteIt) {
    EXPECT_THAT(problems_of_file("# PBS\nnode-a\nnode-a\nnode-a\nnode-b\nnode-b\n"),
                ElementsAre("3: node-a is given 3 times (also in line 2); for 3 slots write "
                            "\"node-a slots=3\" once",
                            "6: node-b is given 2 times (also in line 5); for 2 slots write "
                            "\"node-b slots=2\" once"));
    EXPECT_THAT(problems_of_file("n1 slots=2\nn1 slots=2\n"),
                ElementsAre("2: n1 is given twice (also in line 1)"));
}

TEST(SshHosts, AnEntryReadsBack) {
    for (auto const* text : {"n1", "n1 slots=8 port=2222 user=eva", "[fd00::7] port=23"}) {
        SshHost const host = host_of(text);
        EXPECT_EQ(to_entry(host), text);
        EXPECT_EQ(host_of(to_entry(host)), host);
    }
}

class SshChecks : public testing::Test {
protected:
    SshChecks()
        : folder_(std::filesystem::path(testing::TempDir()) /
                  ("osora-ssh-hosts-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~SshChecks() override { std::filesystem::remove_all(folder_); }

    void write(std::string const& name, std::string const& text) const {
        std::ofstream(folder_ / name) << text;
    }
    /// Of a run file that has `ssh` as its [ssh] section.
    ResolvedConfig load(std::string const& ssh, std::vector<std::string> sets = {}) const {
        write("clips.csv", "path\n");
        write("run.toml", kMinimal + std::string("[resources]\nbackend = \"ssh\"\nnodes = 2\n") +
                              "gpus_per_node = 2\n[ssh]\n" + ssh);
        ConfigRequest request;
        request.run_file = folder_ / "run.toml";
        request.run_file_shown = "run.toml";
        request.sets = std::move(sets);
        return load_config(request);
    }

    std::filesystem::path folder_;
};

TEST_F(SshChecks, HostsMustBeThereAndBeEnough) {
    EXPECT_THAT(texts(load("hosts = [\"n1\", \"n2 slots=2\"]").problems), IsEmpty());
    EXPECT_THAT(texts(load("hosts = [\"n1\"]").problems),
                ElementsAre("run.toml:8: resources.nodes = 2: 1 host is given (ssh.hosts); nearest "
                            "valid: 1"));
    EXPECT_THAT(texts(load("").problems),
                ElementsAre("run.toml: ssh.hosts = []: names no host; write hosts = [\"n1\", \"n2 "
                            "slots=8\"]"));
    EXPECT_THAT(texts(load("hosts = [\"n1\", \"n2 slots=1\"]").problems),
                ElementsAre("run.toml:9: resources.gpus_per_node = 2: n2 has slots=1; nearest "
                            "valid: 1"));
    EXPECT_THAT(texts(load("hosts = [\"n1\", \"n2 slots=1\"]", {"resources.nodes=1"}).problems),
                IsEmpty())
        << "a host that is not used";
    EXPECT_THAT(texts(load("hosts = [\"n1\", \"n2\", \"n3\"]", {"resources.spares=2"}).problems),
                ElementsAre("--set: resources.spares = 2: 1 of the 3 hosts is left; nearest valid: "
                            "1"));
    EXPECT_THAT(
        texts(load("hosts = [\"n1\", \"n1\"]").problems),
        ElementsAre("run.toml:11: ssh.hosts, entry 2: n1 is given twice (also in entry 1)"));
    EXPECT_THAT(
        texts(load("hosts = [\"n1;\"]", {"resources.backend=local", "resources.nodes=1"}).problems),
        IsEmpty())
        << "another backend does not care";
}

TEST_F(SshChecks, ExcludedHostsAreLeftOut) {
    std::string const three = "hosts = [\"n1\", \"n2 slots=1\", \"eva@n3 port=23\"]";
    EXPECT_THAT(texts(load(three).problems), testing::SizeIs(1)) << "n2 has one slot";
    auto const resolved = load(three, {"faults.exclude_nodes=[\"N2.cluster\", \"n9\"]"});
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    EXPECT_THAT(texts(without_effect(resolved)), IsEmpty());
    EXPECT_EQ(resolved.config.ssh.hosts.size(), 3u) << "another submit may exclude others";
    EXPECT_THAT(texts(load(three, {"faults.exclude_nodes=[\"n1\", \"n2\"]"}).problems),
                ElementsAre("--set: faults.exclude_nodes = [\"n1\", \"n2\"]: leaves 1 host: n3 "
                            "(ssh.hosts); resources.nodes = 2"));
    EXPECT_THAT(texts(load("hosts = [\"n1\"]", {"faults.exclude_nodes=[\"n1\"]"}).problems),
                ElementsAre("--set: faults.exclude_nodes = [\"n1\"]: leaves no host (ssh.hosts); "
                            "resources.nodes = 2"));
    EXPECT_THAT(
        texts(load(three, {"faults.exclude_nodes=[\"n2\"]", "resources.spares=1"}).problems),
        ElementsAre("--set: resources.spares = 1: 0 of the 2 hosts are left; nearest valid: "
                    "0"));
}

TEST_F(SshChecks, AnExcludedNameFitsOneHost) {
    std::string const four = "hosts = [\"n1.a\", \"N1.b\", \"n2.a\", \"n2.a port=23\"]";
    EXPECT_THAT(texts(load(four, {"faults.exclude_nodes=[\"n1\"]"}).problems),
                ElementsAre("--set: faults.exclude_nodes = [\"n1\"]: n1 fits n1.a and n1.b "
                            "(ssh.hosts); write the domain"));
    EXPECT_THAT(texts(load(four, {"faults.exclude_nodes=[\"n1.b\"]"}).problems), IsEmpty());
    EXPECT_THAT(load(four, {"faults.exclude_nodes=[\"n[1-2].b\"]"}).config.faults.exclude_nodes,
                ElementsAre("n1.b", "n2.b"));
    EXPECT_THAT(texts(load(four, {"faults.exclude_nodes=[\"n[2-1]\"]"}).problems),
                testing::Contains(testing::HasSubstr("'2-1' runs backwards")));
    EXPECT_THAT(texts(load(four, {"faults.exclude_nodes=[\"n2\"]"}).problems), IsEmpty())
        << "one host, on two ports";
}

TEST_F(SshChecks, FilesOfKeysAreFoundFromTheRunFile) {
    std::string const hosts = "hosts = [\"n1\", \"n2\"]\n";
    EXPECT_THAT(
        texts(load(hosts + "identity = \"key\"").problems),
        ElementsAre("run.toml:12: ssh.identity: key: no such file (looked in the run file's "
                    "folder)"));
    write("key", "");
    write("known", "");
    auto const resolved = load(hosts + "identity = \"key\"\nknown_hosts = \"known\"");
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    EXPECT_EQ(resolved.config.ssh.identity, folder_ / "key") << "the controller is elsewhere";
    EXPECT_EQ(resolved.config.ssh.known_hosts, folder_ / "known");
}

TEST_F(SshChecks, AHostFileIsKeptAsItWas) {
    write("hosts", "n1 slots=8\nn2 port=23 # two\nn3\n");
    auto const resolved = load("hostfile = \"hosts\"");
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    EXPECT_THAT(resolved.config.ssh.hosts, ElementsAre("n1 slots=8", "n2 port=23", "n3"));
    EXPECT_EQ(resolved.config.ssh.hostfile, "");
    EXPECT_EQ(resolved.origins.at("ssh.hosts").line, 11);
}

TEST_F(SshChecks, AHostFilesProblemsNameItsLines) {
    write("hosts", "n1\n\nn1 # again\n");
    EXPECT_THAT(texts(load("hostfile = \"hosts\"").problems),
                ElementsAre("hosts:3: n1 is given 2 times (also in line 1); for 2 slots write "
                            "\"n1 slots=2\" once"));
    EXPECT_THAT(texts(load("hostfile = \"hosts\"\nhosts = [\"n1\"]").problems),
                ElementsAre("run.toml:11: ssh.hostfile = \"hosts\": ssh.hosts is given, too: keep "
                            "one of the two"));
    EXPECT_THAT(texts(load("hostfile = \"none\"").problems),
                ElementsAre("run.toml:11: ssh.hostfile: none: no such file (looked in the run "
                            "file's folder)"));
    write("hosts", "n1\n");
    EXPECT_THAT(texts(load("hostfile = \"hosts\"").problems),
                ElementsAre("run.toml:8: resources.nodes = 2: 1 host is given (hosts); nearest "
                            "valid: 1"));
}

}  // namespace
}  // namespace osora::plan
