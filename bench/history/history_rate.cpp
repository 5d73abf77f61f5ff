// history_rate: what recording a large run costs, and how long reports over a large history take.
// Prints CPU time a step and bytes an hour at one step a second; exit 1 over a limit.
#include "bench/history/many_runs.hpp"
#include "bench/history/written_run.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>

namespace osora::bench {
namespace {

constexpr double kCpuMsMax = 10, kMbMax = 30, kAnswerSecondsMax = 1;

/// A folder that goes with the object.
class Folder {
public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "osora-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

bool measure_writing(RunSize const& size) {
    Folder const state;
    auto const cost = write_run(state.path(), size);
    auto const ms = [&](double seconds) { return 1e3 * seconds / size.steps; };
    auto const mb_an_hour = [&](std::int64_t bytes) {
        return static_cast<double>(bytes) / size.steps * 3600 / 1e6;
    };
    fmt::print("{} ranks on {} nodes, {} steps, cv {:.1f} %, 1 step/s\n", size.ranks,
               size.ranks / size.ranks_per_node, size.steps, 100 * size.cv);
    fmt::print(
        "CPU ms a step: reduce {:.2f} (all nodes), matrices {:.2f} (all nodes), journal "
        "{:.2f}, ingest {:.2f}, in all {:.2f} (limit {:.0f})\n",
        ms(cost.reduce_s), ms(cost.matrix_s), ms(cost.journal_s), ms(cost.ingest_s),
        ms(cost.total_s()), kCpuMsMax);
    double const history_mb = mb_an_hour(cost.history_bytes);
    double const journal_mb = mb_an_hour(cost.journal_bytes);
    fmt::print("MB an hour: history.db {:.1f}, journal {:.1f} (limit of each {:.0f})\n", history_mb,
               journal_mb, kMbMax);
    for (auto const& [kind, bytes] : cost.journal_bytes_of) {
        fmt::print("  journal, {}: {:.1f}\n", kind, mb_an_hour(bytes));
    }
    return ms(cost.total_s()) <= kCpuMsMax && history_mb <= kMbMax && journal_mb <= kMbMax;
}

bool measure_reading(HistorySize const& size) {
    Folder const state;
    make_history(state.path(), size);
    fmt::print("{} runs of {} steps and one of {}\n", size.runs, size.steps_each,
               size.long_run_steps);
    bool good = true;
    for (auto const& each : ask_history(state.path(), size)) {
        fmt::print("  {:6.0f} ms  {}\n", 1e3 * each.wall_s, each.name);
        good = good && each.wall_s <= kAnswerSecondsMax;
    }
    return good;
}

int run(int argc, char** argv) {
    CLI::App app("What recording a large run costs.");
    RunSize size;
    app.add_option("--ranks", size.ranks)->check(CLI::Range(8, 65536));
    app.add_option("--steps", size.steps)->check(CLI::Range(1, 1'000'000));
    app.add_option("--cv", size.cv)->check(CLI::Range(0.0, 1.0));
    HistorySize history;
    app.add_option("--runs", history.runs, "Of the history that is read; 0: none")
        ->check(CLI::Range(0, 100'000));
    CLI11_PARSE(app, argc, argv);
    bool const writes_well = measure_writing(size);
    bool const reads_well = history.runs == 0 || measure_reading(history);
    return writes_well && reads_well ? 0 : 1;
}

}  // namespace
}  // namespace osora::bench

int main(int argc, char** argv) {
    try {
        return osora::bench::run(argc, argv);
    } catch (std::exception const& error) {
        fmt::print(stderr, "history_rate: {}\n", error.what());
        return 2;
    }
}
