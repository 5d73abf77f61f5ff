// Polling with poll(): conditions of other processes cannot be waited for otherwise.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/descendants.hpp"
#include "base/files.hpp"
#include "base/marked_processes.hpp"
#include "protocol/json.hpp"
#include "protocol/run_events.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

namespace osora::e2e_cli {
namespace {

namespace fs = std::filesystem;

std::string content_of(fs::path const& file) {
    auto content = read_file(file);
    return content.has_value() ? *content : "";
}

}  // namespace

bool eventually(std::function<bool()> const& condition, double limit_s) {
    using Clock = std::chrono::steady_clock;
    auto const end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (!condition()) {
        if (Clock::now() >= end) return false;
        ::poll(nullptr, 0, 10);
    }
    return true;
}

std::vector<std::string> lines_of(std::string const& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::string Running::out() const {
    return content_of(out_);
}

bool Running::says(std::string const& text, double limit_s) const {
    return eventually([&] { return out().find(text) != std::string::npos; }, limit_s);
}

Ended Running::wait(double limit_s) const {
    pollfd ended{child_.pidfd.get(), POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(limit_s * 1000)) != 1) {
        ADD_FAILURE() << "osora still runs after " << limit_s << " s; it said:\n" << out();
        signal_process(child_.id, SIGKILL);
    }
    auto const status = reap(child_);
    return {status.signal != 0 ? 128 + status.signal : status.exit_code, content_of(out_),
            content_of(err_)};
}

void Cli::SetUp() {
    std::string folder = testing::TempDir() + "osora cli 'it''s a \"test\"' XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    become_subreaper();
    environment_ = {"PATH=/usr/bin:/bin",
                    "HOME=" + (folder_ / "home").string(),
                    "USER=tester",
                    "LANG=C.UTF-8",
                    "OSORA_STATE_DIR=" + (folder_ / "state").string(),
                    "OSORA_SITE_CONFIG=" + (folder_ / "site.toml").string(),
                    "OSORA_WORKER=" OSORA_BIN_DIR "/osora-worker-mock"};
    write("clips.csv", "path,num_frames,height,width\na.mp4,64,96,96\n");
}

void Cli::TearDown() {
    auto const nothing_lives = [this] {
        std::error_code ignored;
        for (auto const& run : fs::directory_iterator(folder_ / "state" / "runs", ignored)) {
            if (!run.is_directory()) continue;
            for (auto const& each : processes_of(run.path().filename())) {
                signal_process(each, SIGKILL);
            }
        }
        return kill_descendants({}) == 0;
    };
    EXPECT_TRUE(eventually(nothing_lives, 20)) << "the test leaves processes behind";
    fs::remove_all(folder_);
}

void Cli::write(fs::path const& name, std::string const& text) const {
    std::ofstream(folder_ / name) << text;
}

void Cli::write_run_file(int steps, std::string const& more) {
    write("run.toml", fmt::format("[run]\nname = \"demo\"\n"
                                  "[resources]\ngpus_per_node = 2\ncpus_per_worker = 1\n"
                                  "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
                                  "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n"
                                  "[batch]\nglobal_batch_size = 4\n"
                                  "[train]\nsteps = {}\n"
                                  "[checkpoint]\nevery = 10\n{}",
                                  steps, more));
}

Running Cli::start(std::vector<std::string> const& arguments) {
    int const index = started_++;
    fs::path const out = folder_ / fmt::format("out-{}", index);
    fs::path const err = folder_ / fmt::format("err-{}", index);
    auto const open = [](fs::path const& file) {
        return Descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    };
    Descriptor const to_out = open(out);
    Descriptor const to_err = open(err);
    SpawnOptions options;
    options.program = OSORA_BIN_DIR "/osora";
    options.arguments = arguments;
    options.environment = environment_;
    options.working_directory = folder_;
    options.descriptors = {{to_out.get(), STDOUT_FILENO}, {to_err.get(), STDERR_FILENO}};
    auto child = spawn(options);
    EXPECT_TRUE(child.has_value()) << child.error().message;
    return Running(std::move(*child), out, err);
}

Ended Cli::osora(std::vector<std::string> const& arguments) {
    return start(arguments).wait();
}

fs::path Cli::run_dir(std::string const& name) const {
    return folder_ / "state" / "runs" / name;
}

std::vector<ProcessId> Cli::processes_of(std::string const& name) const {
    auto const submitted =
        protocol::decode<protocol::RunSubmitted>(content_of(run_dir(name) / "submission.json"));
    if (submitted.has_error() || submitted->run_uuid.empty()) return {};
    return processes_marked({"OSORA_RUN_UUID=" + submitted->run_uuid});
}

bool Cli::all_gone(std::string const& name, double limit_s) const {
    return eventually([&] { return processes_of(name).empty(); }, limit_s);
}

int Cli::controller_pid(std::string const& name) const {
    return std::atoi(content_of(run_dir(name) / "controller.lock").c_str());
}

}  // namespace osora::e2e_cli
