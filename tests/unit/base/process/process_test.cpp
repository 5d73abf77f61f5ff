// Real children: they must get exactly the given bytes, and none may survive.
#include "base/process/process.hpp"
#include "base/environment.hpp"
#include "base/files/files.hpp"
#include "base/process/descendants.hpp"
#include "base/process/marked_processes.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace osora {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Processes : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "osora-process-XXXXXX";
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        become_subreaper();
    }
    void TearDown() override {
        while (kill_descendants({}) > 0) ::poll(nullptr, 0, 1);
        std::filesystem::remove_all(folder_);
    }

    std::string file(std::string const& name) const { return folder_ + "/" + name; }

    SpawnOptions shell(std::string const& script) const {
        return {.program = "/bin/sh",
                .arguments = {"-c", script},
                .environment = {"PATH=/usr/bin:/bin"},
                .working_directory = folder_,
                .descriptors = {},
                .death_signal = SIGKILL,
                .new_session = false};
    }

    /// Waits (at most 10 s) for `path` to hold a line, and returns its first word as a number.
    int number_in(std::string const& path) const {
        for (int i = 0; i < 10'000; ++i) {
            std::ifstream in(path);
            int number = 0;
            if (in >> number && in.get() == '\n') return number;
            ::poll(nullptr, 0, 1);
        }
        ADD_FAILURE() << path << ": no number";
        return 0;
    }

    std::string folder_;
};

std::vector<std::string> split_zero(std::string const& text) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\0'); end != std::string::npos;
         end = text.find('\0', begin)) {
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

TEST_F(Processes, ArgumentsAndEnvironmentAreExactBytes) {
    std::vector<std::string> const arguments{"",
                                             "a b",
                                             "\"quoted\"",
                                             "it's $HOME `id` ; * \\",
                                             "line\nbreak",
                                             "\xff\xfe",
                                             std::string(65536, 'x')};
    Environment environment;
    set_variable(environment, "NCCL_IB_HCA", "mlx5_0,mlx5_1");
    set_variable(environment, "NEWLINE", "a\nB=c\n");
    set_variable(environment, "BYTES", "\xff\x01\"'=");
    set_variable(environment, "LONG", std::string(65536, 'y'));
    set_variable(environment, "EMPTY", "");
    SpawnOptions options = shell("cat /proc/$$/cmdline > cmdline; cat /proc/$$/environ > environ");
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.environment = environment;
    options.environment.push_back("PATH=/usr/bin:/bin");
    auto const child = spawn(options);
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(reap(*child).exit_code, 0);
    auto const seen = split_zero(*read_file(file("cmdline")));
    ASSERT_EQ(seen.size(), arguments.size() + 3);
    EXPECT_TRUE(std::equal(arguments.begin(), arguments.end(), seen.begin() + 3));
    EXPECT_EQ(split_zero(*read_file(file("environ"))), options.environment);
}

TEST_F(Processes, OnlyTheGivenDescriptorsArrive) {
    Descriptor const leaked(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC
    Descriptor const out(::open(file("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Descriptor const one(::open(file("one").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Descriptor const two(::open(file("two").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    // The targets are each other's sources: they must not overwrite one another.
    SpawnOptions options = shell("echo first >&\"$A\"; echo second >&\"$B\"; cd /proc/self/fd; ls");
    options.environment.push_back("A=" + std::to_string(two.get()));
    options.environment.push_back("B=" + std::to_string(one.get()));
    options.descriptors = {{out.get(), 1}, {one.get(), two.get()}, {two.get(), one.get()}};
    auto const child = spawn(options);
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(reap(*child).exit_code, 0);
    EXPECT_EQ(*read_file(file("one")), "first\n");
    EXPECT_EQ(*read_file(file("two")), "second\n");
    // Of the shell: 0, 1, 2 and the two.
    auto const listed = *read_file(file("out"));
    EXPECT_EQ(std::ranges::count(listed, '\n'), 5) << listed;
}

TEST_F(Processes, AProgramThatIsNotThereIsAnErrorWithItsPath) {
    SpawnOptions options = shell("");
    options.program = file("no such program");
    auto const child = spawn(options);
    ASSERT_TRUE(child.has_error());
    EXPECT_EQ(child.error().code, Errc::not_found);
    EXPECT_THAT(child.error().message, HasSubstr("no such program: start: No such file"));
    EXPECT_TRUE(descendants_of(::getpid()).empty());
}

TEST_F(Processes, AFolderThatIsNotThereIsAnErrorWithItsPath) {
    SpawnOptions options = shell("");
    options.working_directory = file("gone");
    auto const child = spawn(options);
    ASSERT_TRUE(child.has_error());
    EXPECT_THAT(child.error().message, HasSubstr("gone: enter folder"));
}

TEST_F(Processes, ExitAndSignalAreReported) {
    auto const exits = spawn(shell("exit 93"));
    auto const dies = spawn(shell("kill -SEGV $$"));
    ASSERT_TRUE(exits.has_value() && dies.has_value());
    EXPECT_EQ(describe(reap(*exits)), "exited with 93");
    EXPECT_THAT(describe(reap(*dies)), HasSubstr("killed by signal 11"));
}

TEST_F(Processes, PidfdBecomesReadableAtTheEnd) {
    auto const child = spawn(shell("exec sleep 1000"));
    ASSERT_TRUE(child.has_value());
    EXPECT_FALSE(has_ended(*child));
    EXPECT_TRUE(signal_process(child->id, SIGTERM));
    pollfd waited{.fd = child->pidfd.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&waited, 1, 10'000), 1);
    EXPECT_TRUE(has_ended(*child));
    EXPECT_EQ(reap(*child).signal, SIGTERM);
    EXPECT_FALSE(signal_process(child->id, SIGTERM));
}

TEST_F(Processes, AnotherProcessWithTheSameNumberIsNotSignalled) {
    auto const child = spawn(shell("exec sleep 1000"));
    ASSERT_TRUE(child.has_value());
    ProcessId stale = child->id;
    --stale.start_ticks;
    EXPECT_FALSE(signal_process(stale, SIGKILL));
    EXPECT_TRUE(is_alive(child->id));
}

TEST_F(Processes, ChildrenDieWithTheirParent) {
    // The shell spawns through this very program's spawn(): a parent that is then killed.
    pid_t const parent = ::fork();
    if (parent == 0) {
        auto const child = spawn(shell("echo $$ > pid; exec sleep 1000"));
        ::pause();
        ::_exit(child.has_value() ? 0 : 1);
    }
    int const pid = number_in(file("pid"));
    auto const id = process_id_of(pid);
    ASSERT_TRUE(id.has_value());
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    for (int i = 0; i < 10'000 && is_alive(*id); ++i) ::poll(nullptr, 0, 1);
    EXPECT_FALSE(is_alive(*id));
}

TEST_F(Processes, OrphansAreFoundAndKilled) {
    auto const child =
        spawn(shell("setsid sh -c 'trap \"\" TERM; echo $$ > pid; sleep 1000' &"
                    " while [ ! -s pid ]; do :; done"));
    ASSERT_TRUE(child.has_value());
    auto const orphan = process_id_of(number_in(file("pid")));
    ASSERT_TRUE(orphan.has_value());
    EXPECT_EQ(reap(*child).exit_code, 0);
    EXPECT_THAT(descendants_of(::getpid()), Contains(*orphan));
    auto const kept = spawn(shell("sleep 1000"));
    ASSERT_TRUE(kept.has_value());
    while (kill_descendants({kept->id.pid}) > 0) ::poll(nullptr, 0, 1);
    EXPECT_FALSE(is_alive(*orphan));
    EXPECT_TRUE(is_alive(kept->id));
    EXPECT_THAT(descendants_of(::getpid()), Contains(kept->id));
}

TEST_F(Processes, SignalsReachTheWholeGroup) {
    auto const child = spawn(shell("sleep 1000 & echo $! > pid; wait"));
    ASSERT_TRUE(child.has_value());
    auto const inner = process_id_of(number_in(file("pid")));
    ASSERT_TRUE(inner.has_value());
    signal_group(*child, SIGKILL);
    EXPECT_EQ(reap(*child).signal, SIGKILL);
    for (int i = 0; i < 10'000 && is_alive(*inner); ++i) ::poll(nullptr, 0, 1);
    EXPECT_FALSE(is_alive(*inner));
}

TEST_F(Processes, MarkedOnesAreFoundWhoeverTheirParentIs) {
    SpawnOptions options = shell("(setsid sleep 1000 &) ; echo > ready; exec sleep 1000");
    set_variable(options.environment, "OSORA_MARK", "m1");
    set_variable(options.environment, "OSORA_OTHER", "x");
    auto const child = spawn(options);
    ASSERT_TRUE(child.has_value());
    auto const count = [](Environment const& marks) { return processes_marked(marks).size(); };
    // The shells in between carry the variable too until both sleeps run alone.
    for (int i = 0, calm = 0; i < 10'000 && calm < 20; ++i, ::poll(nullptr, 0, 1)) {
        calm = count({"OSORA_MARK=m1"}) == 2 ? calm + 1 : 0;
    }
    EXPECT_EQ(count({"OSORA_MARK=m1"}), 2u);
    EXPECT_EQ(count({"OSORA_MARK=m1", "OSORA_OTHER=x"}), 2u);
    EXPECT_EQ(count({"OSORA_MARK=m1", "OSORA_OTHER=y"}), 0u);
    EXPECT_EQ(count({"OSORA_MARK=m"}), 0u);
    EXPECT_EQ(count({"SORA_MARK=m1"}), 0u);
}

TEST(Environments, NamesAreWholeNames) {
    Environment environment{"A=1", "AB=2", "EMPTY="};
    EXPECT_TRUE(has_variable(environment, "EMPTY"));
    EXPECT_FALSE(has_variable(environment, "E"));
    set_variable(environment, "A", "3");
    EXPECT_THAT(environment, ElementsAre("AB=2", "EMPTY=", "A=3"));
    EXPECT_EQ(variable_or(environment, "AB", "x"), "2");
    EXPECT_EQ(variable_or(environment, "B", "x"), "x");
}

TEST_F(Processes, RunOnTheCpusTheyAreGiven) {
    cpu_set_t mine;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &mine)) --last;
    auto options = shell("grep Cpus_allowed_list /proc/self/status >cpus; echo 1 >done");
    options.cpus = {last};
    Child const child = *spawn(options);
    EXPECT_EQ(number_in(file("done")), 1);
    (void)reap(child);
    EXPECT_EQ(*read_file(file("cpus")), "Cpus_allowed_list:\t" + std::to_string(last) + "\n");
}

TEST_F(Processes, StartOnAnyCpuWhenTheKernelHasNoneOfThem) {
    auto options = shell("exit 7");
    options.cpus = {65'000};
    EXPECT_EQ(reap(*spawn(options)).exit_code, 7);
}

}  // namespace
}  // namespace osora
