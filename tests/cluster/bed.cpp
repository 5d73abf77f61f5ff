#include "tests/cluster/bed.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <sstream>

namespace osora::cluster {
namespace {

namespace fs = std::filesystem;
constexpr char const* kProgram = OSORA_SOURCE_DIR "/tests/cluster/bed";
double const kUpLimit_s = 2 * tests::kPatience_s;

Environment plain_environment() {
    return {"PATH=" OSORA_BIN_DIR ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG=C.UTF-8", "OSORA_WORKER=" OSORA_BIN_DIR "/osora-worker-mock"};
}

SpawnOptions bed_command(std::vector<std::string> arguments, Environment environment,
                         fs::path const& directory = "/") {
    return {.program = kProgram,
            .arguments = std::move(arguments),
            .environment = std::move(environment),
            .working_directory = directory};
}

/// The bed's output until it is ready; an error contains all of it.
Result<void> await_ready(int fd) {
    using Clock = std::chrono::steady_clock;
    auto const end = Clock::now() + std::chrono::duration<double>(kUpLimit_s);
    std::string said;
    while (!said.ends_with("ready\n")) {
        auto const left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd readable{fd, POLLIN, 0};
        std::array<char, 4096> bytes;
        if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) != 1) {
            return Error{Errc::timed_out, "the bed is not ready: " + said};
        }
        auto const got = ::read(fd, bytes.data(), bytes.size());
        if (got <= 0) return Error{Errc::io, "the bed ended: " + said};
        said.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return {};
}

/// The command that nsenter started: the first descendant in a node's namespaces; 0 until it is
/// there.
int command_below(int pid) {
    int child = 0;
    std::ifstream(fmt::format("/proc/{0}/task/{0}/children", pid)) >> child;
    std::error_code gone;
    auto const namespace_of_child = fs::read_symlink(fmt::format("/proc/{}/ns/pid", child), gone);
    return gone || namespace_of_child == fs::read_symlink("/proc/self/ns/pid") ? 0 : child;
}

}  // namespace

void Running::signal(int number) const {
    int pid = 0;
    auto const started = [&] { return (pid = command_below(child().id.pid)) != 0; };
    EXPECT_TRUE(eventually(started)) << "nothing runs that could be signalled";
    auto const command = process_id_of(pid);
    EXPECT_TRUE(command.has_value() && signal_process(*command, number));
}

Bed::Bed(fs::path folder, BedOptions options, Child process)
    : folder_(std::move(folder)),
      options_(std::move(options)),
      process_(std::move(process)),
      environment_(plain_environment()) {}

Bed::~Bed() {
    // Its first process ends with this one, and its namespaces' processes with that.
    signal_group(process_, SIGKILL);
    (void)reap(process_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

std::string Bed::missing() {
    std::string output = testing::TempDir() + "osora-bed-check-XXXXXX";
    Descriptor const file(::mkstemp(output.data()));
    auto check = tests::start_program(bed_command({"check"}, plain_environment()), output);
    auto const ended = check.has_value() ? check->wait() : Ended{};
    for (char const* suffix : {"", ".out", ".err"}) fs::remove(output + suffix);
    if (ended.code == 0) return "";
    return ended.out.empty() ? "bed check: exit " + std::to_string(ended.code) : ended.out;
}

Result<std::unique_ptr<Bed>> Bed::start(BedOptions const& options) {
    std::string folder = testing::TempDir() + "osora-bed-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return file_error(errno, "mkdtemp", folder);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "pipe", folder);
    Descriptor const from_bed(ends[0]);
    Descriptor to_us(ends[1]);
    auto spawned = bed_command(
        {"serve", folder, "--nodes", std::to_string(options.nodes), "--leaf",
         std::to_string(options.leaf_size), "--rate", options.rate, "--trunk", options.trunk_rate},
        plain_environment());
    if (!options.second_rate.empty()) {
        spawned.arguments.insert(spawned.arguments.end(), {"--second", options.second_rate});
    }
    for (auto const& line : options.slurm_conf) {
        spawned.arguments.insert(spawned.arguments.end(), {"--conf", line});
    }
    if (!options.slurm) spawned.arguments.emplace_back("--no-slurm");
    if (!options.sshd) spawned.arguments.emplace_back("--no-sshd");
    spawned.descriptors = {{to_us.get(), STDOUT_FILENO}, {to_us.get(), STDERR_FILENO}};
    OSORA_TRY(auto process, spawn(spawned));
    to_us.reset();
    auto bed = std::make_unique<Bed>(folder, options, std::move(process));
    OSORA_TRY_VOID(await_ready(from_bed.get()));
    return bed;
}

Running Bed::start_on(std::string const& where, std::vector<std::string> const& argv) {
    std::vector<std::string> arguments{"exec", folder_, where};
    arguments.insert(arguments.end(), argv.begin(), argv.end());
    auto const at = where.find('@');
    std::string const user = at == where.npos ? "root" : where.substr(0, at);
    auto running = tests::start_program(
        bed_command(std::move(arguments), environment_, folder_ / "home" / user),
        folder_ / fmt::format("log/command-{}", started_++));
    if (running.has_error()) throw std::runtime_error(running.error().message);
    return Running(std::move(*running));
}

Ended Bed::run(std::string const& where, std::vector<std::string> const& argv, double limit_s) {
    return start_on(where, argv).wait(limit_s);
}

Ended Bed::shell(std::string const& where, std::string const& program, double limit_s) {
    return run(where, {"/bin/bash", "-c", program}, limit_s);
}

fs::path Bed::from_here(fs::path const& path) const {
    int pid = 0;
    std::ifstream(folder_ / "fabric.pid") >> pid;
    return fmt::format("/proc/{}/root{}", pid, path.string());
}

std::string Bed::user() {
    return run("alice@ctl", {"test", "-x", OSORA_BIN_DIR "/osora"}).code == 0 ? "alice" : "root";
}

void Bed::control(std::vector<std::string> const& words) {
    std::vector<std::string> arguments{words.at(0), folder_};
    arguments.insert(arguments.end(), words.begin() + 1, words.end());
    auto running = tests::start_program(bed_command(std::move(arguments), plain_environment()),
                                        folder_ / fmt::format("log/control-{}", started_++));
    ASSERT_TRUE(running.has_value()) << running.error().message;
    auto const ended = running->wait();
    EXPECT_EQ(ended.code, 0) << "bed " << testing::PrintToString(words) << ": " << ended.err;
}

bool Bed::all_idle() {
    auto const sinfo = run("ctl", {"sinfo", "-h", "-o", "%D %T"});
    return sinfo.code == 0 && sinfo.out == std::to_string(options_.nodes) + " idle\n";
}

bool Bed::heal(double limit_s) {
    control({"heal"});
    if (!options_.slurm) return true;
    (void)shell("ctl", "squeue -h -o %A | xargs -r scancel");
    // A controller that was killed may start a job twice, and drains the node that refuses it.
    auto const resume = [this] {
        auto const drained = run("ctl", {"sinfo", "-h", "-N", "-o", "%N", "-t", "drain"}).out;
        std::istringstream nodes(drained);
        for (std::string node; nodes >> node;) {
            (void)run("ctl", {"scontrol", "update", "NodeName=" + node, "State=RESUME"});
        }
    };
    return eventually([&] { return all_idle() || (resume(), all_idle()); }, limit_s);
}

void BedTest::open(BedOptions const& options) {
    missing_ = Bed::missing();
    if (!missing_.empty()) return;
    auto bed = Bed::start(options);
    failure_ = bed.has_error() ? bed.error().message : "";
    if (bed.has_value()) bed_ = std::move(*bed);
}

void BedTest::SetUp() {
    if (!missing_.empty()) GTEST_SKIP() << missing_;
    ASSERT_TRUE(bed_ != nullptr) << failure_;
}

void BedTest::TearDown() {
    EXPECT_TRUE(!bed_ || bed_->heal()) << "the bed did not recover after this test";
}

}  // namespace osora::cluster
