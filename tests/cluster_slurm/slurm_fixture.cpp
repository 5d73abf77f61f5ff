#include "tests/cluster_slurm/slurm_fixture.hpp"

#include "base/files.hpp"
#include "base/marked_processes.hpp"
#include "protocol/journal.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {

namespace fs = std::filesystem;

void SlurmTest::SetUp() {
    BedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = bed().folder() / fmt::format("it's \"100%\" {}", test->name());
    fs::create_directories(folder_);
    auto& environment = bed().environment();
    set_variable(environment, "OSORA_STATE_DIR", (folder_ / "state").string());
    set_variable(environment, "OSORA_SITE_CONFIG", (folder_ / "none.toml").string());
    set_variable(environment, "OSORA_WORKER", OSORA_BIN_DIR "/osora-worker-mock");
    std::ofstream(folder_ / "clips.csv") << "path,num_frames,height,width\na.mp4,64,96,96\n";
}

void SlurmTest::TearDown() {
    if (!IsSkipped() && !HasFatalFailure()) {
        (void)bed().run("ctl", {"scancel", "--user=root", "--full"}, 20);
        EXPECT_TRUE(wait_until(
            [] {
                return bed().run("ctl", {"squeue", "-h"}, 20).out.empty();
            },
            30))
            << bed().run("ctl", {"squeue"}, 20).out;
    }
    BedTest::TearDown();
}

void SlurmTest::write_run_file(RunFile const& run) const {
    std::ofstream(folder_ / "run.toml") << fmt::format(
        "[run]\nname = \"demo\"\n"
        "[resources]\nbackend = \"slurm\"\nnodes = {}\ngpus_per_node = {}\n"
        "time_limit = \"00:10:00\"\n{}"
        "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
        "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n"
        "[batch]\nglobal_batch_size = {}\n"
        "[train]\nsteps = {}\n"
        "[checkpoint]\nevery = 10\n{}",
        run.nodes, run.ranks, run.extra, run.nodes * run.ranks, run.steps, run.more);
}

Running SlurmTest::start(std::vector<std::string> const& arguments) {
    std::vector<std::string> words{"env", "-C", folder_.string(), OSORA_BIN_DIR "/osora"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return bed().start_on("ctl", words);
}

Ended SlurmTest::osora(std::vector<std::string> const& arguments, double limit_s) {
    auto running = start(arguments);
    return running.wait(limit_s);
}

std::string SlurmTest::content_of(fs::path const& file) {
    auto const content = read_file(file);
    return content.has_value() ? *content : "";
}

fs::path SlurmTest::run_dir(std::string const& name) const {
    return folder_ / "state" / "runs" / name;
}

std::vector<protocol::JournalRecord> SlurmTest::journal(std::string const& name) const {
    protocol::JournalReader reader;
    auto const records = reader.feed(content_of(run_dir(name) / "journal"));
    EXPECT_TRUE(records.has_value()) << records.error().message;
    return records.has_value() ? *records : std::vector<protocol::JournalRecord>();
}

bool SlurmTest::nothing_left(std::string const& name, double limit_s) {
    auto const submitted =
        protocol::decode<protocol::RunSubmitted>(content_of(run_dir(name) / "submission.json"));
    if (submitted.has_error()) return false;
    // This machine sees the processes of all nodes.
    std::string const mark = "OSORA_RUN_UUID=" + submitted->run_uuid;
    return wait_until([&] { return processes_marked({mark}).empty(); }, limit_s);
}

std::string SlurmTest::logs(std::string const& name) const {
    std::string text;
    std::error_code ignored;
    for (auto const& each : fs::directory_iterator(run_dir(name), ignored)) {
        auto const file = each.path();
        if (file.extension() != ".log" && file.extension() != ".stderr") continue;
        text += "--- " + file.filename().string() + "\n" + content_of(file);
    }
    return text;
}

}  // namespace osora::cluster
