#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/process/descendants.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

namespace osora::e2e_cli {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(std::string const& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
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
    // A stall of this machine must not count as a lost node.
    write("site.toml", "[faults]\nlost_after = 60\nlease = 900\n");
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
    EXPECT_TRUE(eventually(nothing_lives)) << "the test leaves processes running";
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

void Cli::script_times() {
    set_variable(environment_, "OSORA_MOCK_CLOCK", "steps");
}

void Cli::hold_at(int step) {
    set_variable(environment_, "OSORA_MOCK_HOLD", std::to_string(step));
}

Running Cli::start(std::vector<std::string> const& arguments) {
    auto program = tests::start_program({.program = OSORA_BIN_DIR "/osora",
                                         .arguments = arguments,
                                         .environment = environment_,
                                         .working_directory = folder_},
                                        folder_ / fmt::format("command-{}", started_++));
    EXPECT_TRUE(program.has_value()) << program.error().message;
    return std::move(*program);
}

Ended Cli::osora(std::vector<std::string> const& arguments) {
    return start(arguments).wait(10 * tests::kPatience_s);
}

fs::path Cli::run_dir(std::string const& name) const {
    return folder_ / "state" / "runs" / name;
}

std::vector<ProcessId> Cli::processes_of(std::string const& name) const {
    return run(name).processes();
}

bool Cli::all_gone(std::string const& name, double limit_s) const {
    return run(name).nothing_left(limit_s);
}

int Cli::controller_pid(std::string const& name) const {
    return std::atoi(content_of(run_dir(name) / "controller.lock").c_str());
}

}  // namespace osora::e2e_cli
