// A temporary home, a run file, and osora run in it. Every process that a test starts is killed
// when the test ends, even when it fails.
#pragma once

#include "base/environment.hpp"
#include "base/process/process.hpp"
#include "tests/kit/program.hpp"
#include "tests/kit/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace osora::e2e_cli {

using tests::content_of;
using tests::Ended;
using tests::eventually;
using tests::Running;

[[nodiscard]] std::vector<std::string> lines_of(std::string const& text);

class Cli : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    /// FOLDER/run.toml for `steps` steps of 10 ms on 2 ranks, checkpoint every 10; `more` is added.
    void write_run_file(int steps, std::string const& more = "");
    void write(std::filesystem::path const& name, std::string const& text) const;

    /// From now on mocks report the times of their script, so that results do not depend on chance.
    void script_times();
    /// From now on mocks wait before `step` until run(NAME).release(), or until they are stopped:
    /// what a test does to a run meanwhile cannot come too late.
    void hold_at(int step);

    [[nodiscard]] Running start(std::vector<std::string> const& arguments);
    /// Runs to its end; a search makes dozens of runs.
    [[nodiscard]] Ended osora(std::vector<std::string> const& arguments);

    [[nodiscard]] std::filesystem::path run_dir(std::string const& name) const;
    [[nodiscard]] tests::RunFolder run(std::string const& name = "demo-0001") const {
        return tests::RunFolder(run_dir(name));
    }
    /// Whether all processes of run `name` have ended within `limit_s`.
    [[nodiscard]] bool all_gone(std::string const& name, double limit_s = tests::kPatience_s) const;
    [[nodiscard]] std::vector<ProcessId> processes_of(std::string const& name) const;
    /// The controller of a run, by its lock file.
    [[nodiscard]] int controller_pid(std::string const& name) const;

    std::filesystem::path folder_;  // has a space and quotes in its name
    Environment environment_;
    int started_ = 0;
};

}  // namespace osora::e2e_cli
