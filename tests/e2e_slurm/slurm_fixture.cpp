#include "tests/e2e_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

namespace osora::e2e_cli {

void SlurmCli::SetUp() {
    Cli::SetUp();
    set_variable(environment_, "PATH", OSORA_SOURCE_DIR "/tests/e2e_slurm/fake:/usr/bin:/bin");
    set_variable(environment_, "FAKE_SLURM", (folder_ / "queue").string());
    set_variable(environment_, "FAKE_SRUN_DOWN", (folder_ / "down").string());
    std::filesystem::create_directory(folder_ / "queue");
}

void SlurmCli::write_slurm_file(int steps, std::string const& resources, std::string const& more) {
    write("run.toml", fmt::format("[run]\nname = \"demo\"\n"
                                  "[resources]\nbackend = \"slurm\"\ngpus_per_node = 2\n{}"
                                  "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
                                  "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n"
                                  "[batch]\nglobal_batch_size = 12\n"
                                  "[probe]\nbefore_start = \"never\"\n"
                                  "[train]\nsteps = {}\n"
                                  "[checkpoint]\nevery = 10\n"
                                  "[faults]\nlost_after = {}\n{}",
                                  resources, steps, tests::kPatience_s, more));
}

std::string SlurmCli::held_at(int step) {
    return fmt::format("[worker]\nenv = {{ OSORA_MOCK_HOLD = \"{}\" }}\n", step);
}

}  // namespace osora::e2e_cli
