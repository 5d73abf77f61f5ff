// A run of many ranks as its nodes and its controller would write it: what it costs them, part by
// part, in CPU time of this thread, and in bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace osora::bench {

struct RunSize {
    int ranks = 1024, ranks_per_node = 8;
    int steps = 640;
    int steps_between_ingests = 10;  // the controller ingests every ten seconds
    double cv = 0.01;                // of the ranks' times in a step
    bool matrices = true;            // what each rank took
};

/// Seconds of CPU over all nodes; bytes on disk.
struct WritingCost {
    double reduce_s = 0, matrix_s = 0, journal_s = 0, ingest_s = 0;
    std::int64_t journal_bytes = 0, history_bytes = 0;
    std::map<std::string, std::int64_t> journal_bytes_of;  // by kind of record
    [[nodiscard]] double total_s() const { return reduce_s + matrix_s + journal_s + ingest_s; }
};

/// Makes STATE/runs/rate-0001 and STATE/history.db. Throws std::runtime_error.
[[nodiscard]] WritingCost write_run(std::filesystem::path const& state_dir, RunSize const& size);

}  // namespace osora::bench
