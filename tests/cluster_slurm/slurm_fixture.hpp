// A user on the login node of a bed: a run file, osora, and what became of it.
#pragma once

#include "protocol/run_events.hpp"
#include "tests/cluster/bed.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cluster {

class SlurmTest : public BedTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 5}); }
    void SetUp() override;
    void TearDown() override;

    /// FOLDER/run.toml: `nodes` x `ranks` mock ranks, 10 ms a step, checkpoint every 10 steps.
    struct RunFile {
        int nodes = 4, ranks = 2, steps = 40;
        std::string more = {};   // at the end
        std::string extra = {};  // under [resources]
    };
    void write_run_file(RunFile const& run) const;

    [[nodiscard]] Running start(std::vector<std::string> const& arguments);
    [[nodiscard]] Ended osora(std::vector<std::string> const& arguments, double limit_s = 60);
    [[nodiscard]] static std::string content_of(std::filesystem::path const& file);
    [[nodiscard]] std::filesystem::path run_dir(std::string const& name) const;
    [[nodiscard]] std::vector<protocol::JournalRecord> journal(std::string const& name) const;
    /// Events of one kind, in order.
    template <class T>
    [[nodiscard]] std::vector<T> events(std::string const& name) const {
        std::vector<T> found;
        for (auto const& record : journal(name)) {
            if (auto const* event = std::get_if<T>(&record.event)) found.push_back(*event);
        }
        return found;
    }
    /// Whether no process of the run is left on any node within `limit_s`.
    [[nodiscard]] bool nothing_left(std::string const& name, double limit_s = 15);
    /// Everything that helps to see why a test failed.
    [[nodiscard]] std::string logs(std::string const& name) const;

    std::filesystem::path folder_;  // its name has a space, quotes and a percent sign
    int started_ = 0;
};

}  // namespace osora::cluster
