// A history of many runs and a long one, and how long what people ask of it takes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace osora::bench {

struct HistorySize {
    int runs = 10'000;
    int steps_each = 40;
    int long_run_steps = 37'000;  // three days at seven seconds a step
};

/// Journals under STATE/runs, ingested. Throws std::runtime_error.
void make_history(std::filesystem::path const& state_dir, HistorySize const& size);

struct Question {
    std::string name;
    double wall_s = 0;
};
/// As the commands ask: history, its filter, report RUN of the long run, report --series of all,
/// and queries on views. Throws std::runtime_error.
[[nodiscard]] std::vector<Question> ask_history(std::filesystem::path const& state_dir,
                                                HistorySize const& size);

}  // namespace osora::bench
