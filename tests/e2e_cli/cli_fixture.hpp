// A home of its own, a run file, and osora run in it. Everything that a test starts is killed when
// it ends, also when it fails.
#pragma once

#include "base/environment.hpp"
#include "base/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace osora::e2e_cli {

/// Polls until `condition` holds; false after `limit_s`.
bool eventually(std::function<bool()> const& condition, double limit_s = 30);

[[nodiscard]] std::vector<std::string> lines_of(std::string const& text);

struct Ended {
    int code = -1;    // 128 + signal when it was killed
    std::string out;  // stdout
    std::string err;
};

/// osora while it runs.
class Running {
public:
    Running(Child child, std::filesystem::path out, std::filesystem::path err)
        : child_(std::move(child)), out_(std::move(out)), err_(std::move(err)) {}

    void signal(int number) const { signal_process(child_.id, number); }
    [[nodiscard]] std::string out() const;
    /// Whether stdout holds `text` within `limit_s`.
    [[nodiscard]] bool says(std::string const& text, double limit_s = 30) const;
    [[nodiscard]] Ended wait(double limit_s = 60) const;

private:
    Child child_;
    std::filesystem::path out_, err_;
};

class Cli : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    /// FOLDER/run.toml for `steps` steps of 10 ms on 2 ranks, checkpoint every 10; `more` is added.
    void write_run_file(int steps, std::string const& more = "");
    void write(std::filesystem::path const& name, std::string const& text) const;

    [[nodiscard]] Running start(std::vector<std::string> const& arguments);
    [[nodiscard]] Ended osora(std::vector<std::string> const& arguments);

    [[nodiscard]] std::filesystem::path run_dir(std::string const& name) const;
    /// Whether no process of run `name` is left within `limit_s`.
    [[nodiscard]] bool all_gone(std::string const& name, double limit_s = 10) const;
    [[nodiscard]] std::vector<ProcessId> processes_of(std::string const& name) const;
    /// The controller of a run, by its lock file.
    [[nodiscard]] int controller_pid(std::string const& name) const;

    std::filesystem::path folder_;  // has a space and quotes in its name
    Environment environment_;
    int started_ = 0;
};

}  // namespace osora::e2e_cli
