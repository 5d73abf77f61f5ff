// What osorad does inside a Slurm job: enter, batch, sweep. Started by job.sh and by srun, not by
// hand.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace osora::daemon {

class SlurmCommands {
public:
    /// Adds the commands; `app` must outlive this.
    explicit SlurmCommands(CLI::App& app);
    SlurmCommands(SlurmCommands const&) = delete;
    SlurmCommands& operator=(SlurmCommands const&) = delete;

    /// The exit code of the command that was given; nullopt: none was.
    [[nodiscard]] std::optional<int> run(std::filesystem::path const& osorad) const;

private:
    [[nodiscard]] int batch(std::filesystem::path const& osorad) const;

    CLI::App* enter_;
    CLI::App* batch_;
    CLI::App* sweep_;
    std::filesystem::path run_dir_;
    std::vector<std::string> command_;
};

}  // namespace osora::daemon
