// Columns: size count type redop [root] and, out-of-place and in-place, time algbw busbw #wrong.
// Old versions have no root where there is none.
#include "topology/collectives/nccl_tests_log.hpp"

#include "base/text/csv.hpp"
#include "base/text/text.hpp"
#include "topology/collectives/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace osora::topology {
namespace {

using LineWords = std::vector<std::string_view>;

constexpr std::string_view kLibraryVersion = "nccl-library=";

struct TestedSize {
    std::int64_t bytes = 0;
    double time_us = 0, algbw = 0, busbw = 0;
    std::string dtype;
    bool sums = false, rooted = false;
};

struct TestRun {
    int ranks = 0;
    bool alone = false;  // several processes that are all rank 0
    std::set<std::string, std::less<>> hosts;
    std::string gpu;
    std::optional<Collective> collective;
    std::vector<TestedSize> sizes;
};

/// Without what `srun -l` ("3: ") or mpirun ("[1,0]<stdout>:") puts in front.
std::string_view without_label(std::string_view line) {
    constexpr std::string_view kStdout = "<stdout>:";
    if (auto const at = line.find(kStdout); at != std::string_view::npos) {
        return trimmed(line.substr(at + kStdout.size()));
    }
    line = trimmed(line);
    auto const digits = std::min(line.find_first_not_of("0123456789"), line.size());
    bool const labelled = digits > 0 && digits < line.size() && line[digits] == ':';
    return labelled ? trimmed(line.substr(digits + 1)) : line;
}

bool has_word(LineWords const& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool is_header(LineWords const& words) {
    return !words.empty() && words.front().starts_with('#') && has_word(words, "size") &&
           has_word(words, "count") && has_word(words, "type") && has_word(words, "redop");
}

/// "./build/all_reduce_perf", "all_reduce_perf_mpi"
std::optional<Collective> collective_in(LineWords const& words) {
    for (std::string_view word : words) {
        auto const end = word.rfind("_perf");
        if (end == std::string_view::npos) continue;
        word = word.substr(0, end);
        auto const slash = word.rfind('/');
        auto const named = parse_collective(word.substr(slash == word.npos ? 0 : slash + 1));
        if (named.has_value()) return *named;
    }
    return std::nullopt;
}

/// "NCCL version 2.21.5+cuda12.4", "nccl-library=22708": "2.21.5", "2.27.8"
std::optional<std::string> version_in(std::string_view line) {
    constexpr std::string_view kText = "NCCL version ";
    if (auto const at = line.find(kText); at != std::string_view::npos) {
        auto const version = line.substr(at + kText.size());
        return std::string(version.substr(0, version.find_first_not_of("0123456789.")));
    }
    auto const at = line.find(kLibraryVersion);
    if (at == std::string_view::npos) return std::nullopt;
    auto const code = leading_number<int>(line.substr(at + kLibraryVersion.size()));
    if (!code || *code < 10'000) return std::nullopt;
    return fmt::format("{}.{}.{}", *code / 10'000, *code / 100 % 100, *code % 100);
}

std::optional<TestedSize> size_in(LineWords const& words, bool has_root) {
    std::size_t const time = has_root ? 5 : 4;
    constexpr std::size_t kFigures = 8;  // time algbw busbw #wrong, twice
    if (words.size() < time + kFigures) return std::nullopt;
    auto const bytes = whole_number<std::int64_t>(words[0]);
    auto const count = whole_number<std::int64_t>(words[1]);
    auto const time_us = whole_number<double>(words[time]);
    auto const algbw = whole_number<double>(words[time + 1]);
    auto const busbw = whole_number<double>(words[time + 2]);
    if (!bytes || !count || !time_us || !algbw || !busbw) return std::nullopt;
    return TestedSize{*bytes,
                      *time_us,
                      *algbw,
                      *busbw,
                      std::string(words[2]),
                      words[3] != "none",
                      has_root && words[4] != "-1"};
}

/// How many times algbw busbw is, of the fastest size; nullopt: too slow to tell.
std::optional<double> bus_ratio(TestRun const& run) {
    auto const slower = [](TestedSize const& a, TestedSize const& b) { return a.algbw < b.algbw; };
    TestedSize const& fastest = *std::ranges::max_element(run.sizes, slower);
    return fastest.algbw >= 1 ? std::optional(fastest.busbw / fastest.algbw) : std::nullopt;
}

bool has_ratio(Collective collective, int ranks, double ratio) {
    constexpr double kRounding = 0.03;  // of figures with two decimals
    return std::abs(ratio / bus_factor(collective, ranks) - 1) < kRounding;
}

Result<Collective> collective_of(TestRun const& run) {
    auto const ratio = bus_ratio(run);
    if (run.collective) {
        if (!ratio || has_ratio(*run.collective, run.ranks, *ratio)) return *run.collective;
        return Error{Errc::invalid_input,
                     fmt::format("busbw is {:.3f} x algbw, that of {} over {} ranks {:.3f} x",
                                 *ratio, collective_name(*run.collective), run.ranks,
                                 bus_factor(*run.collective, run.ranks))};
    }
    bool const for_all = std::ranges::all_of(
        run.sizes, [](TestedSize const& each) { return each.sums && !each.rooted; });
    for (auto const each : {Collective::all_reduce, Collective::reduce_scatter}) {
        if (for_all && ratio && has_ratio(each, run.ranks, *ratio)) return each;
    }
    return Error{
        Errc::invalid_input,
        "nccl-tests did not print which collective this is: put its name before the table, "
        "as # all_gather_perf"};
}

class NcclTestsLog {
public:
    void take(std::string_view raw) {
        std::string_view const line = without_label(raw);
        LineWords const words = words_of(line);
        if (auto version = version_in(line)) {
            bool const begins = line.find(kLibraryVersion) != std::string_view::npos;
            take_version(std::move(*version), begins || !version_.empty());
        }
        if (line.find("_perf") != std::string_view::npos) {
            take_name(collective_in(words), has_word(words, "concluded:"));
        } else if (is_header(words)) {
            has_root_ = has_word(words, "root");
            in_table_ = true;
        } else if (line.starts_with('#')) {
            take_comment(words);
        } else if (auto size = in_table_ ? size_in(words, has_root_) : std::nullopt) {
            bool const measured = size->bytes > 0 && size->time_us > 0;
            if (measured) run_.sizes.push_back(std::move(*size));
        }
    }
    Result<std::string> csv() && {
        finish();
        if (error_) return std::move(*error_);
        if (runs_ == 0) return Error{Errc::not_found, "nccl-tests' table has no results"};
        return std::move(csv_);
    }

private:
    /// The program prints it first, NCCL after the list of devices.
    void take_version(std::string version, bool may_begin) {
        if (may_begin && !run_.sizes.empty() && version != version_) finish();
        version_ = std::move(version);
    }
    void take_name(std::optional<Collective> named, bool concluded) {
        if (!named) return;
        if (!run_.sizes.empty() && !concluded) finish();
        if (run_.sizes.empty() || !run_.collective) run_.collective = named;
    }
    /// "# Using devices", "#  Rank  0 Group  0 Pid  10001 on n1 device  0 [0x07] NVIDIA H100"
    void take_comment(LineWords const& words) {
        if (has_word(words, "Using") && has_word(words, "devices")) {
            if (!run_.sizes.empty()) finish();
            run_.ranks = 0;
            run_.hosts.clear();
            return;
        }
        auto const on = std::ranges::find(words, std::string_view("on"));
        if (words.size() < 3 || words[1] != "Rank" || words.end() - on < 2) return;
        bool const of_another_group = words.size() > 4 && words[3] == "Group" && words[4] != "0";
        if (of_another_group) return;  // NCCL_TESTS_SPLIT: groups of the same size, side by side
        run_.alone = run_.alone || (words[2] == "0" && run_.ranks > 0);
        ++run_.ranks;
        run_.hosts.emplace(on[1]);
        auto const bus = std::find_if(on, words.end(), [](auto word) { return word[0] == '['; });
        run_.gpu.clear();
        for (auto word = bus; word != words.end(); ++word) {
            if (word == bus) continue;
            run_.gpu += (run_.gpu.empty() ? "" : " ") + std::string(*word);
        }
    }
    void finish() {
        in_table_ = false;
        TestRun const run = std::exchange(run_, {});
        if (run.sizes.empty() || error_) return;
        auto const collective = run.alone || run.ranks < 2 ? Result<Collective>(reason_against(run))
                                                           : collective_of(run);
        if (collective.has_error()) {
            error_ = collective.error();
            return;
        }
        ++runs_;
        for (TestedSize const& each : run.sizes) {
            csv_ += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", collective_name(*collective),
                                run.ranks, run.hosts.size(), each.bytes, each.time_us, each.dtype,
                                csv_field(run.gpu), version_, runs_, ++rows_);
        }
    }
    static Error reason_against(TestRun const& run) {
        if (run.alone) {
            return {Errc::invalid_input,
                    "every process is rank 0: nccl-tests was built without MPI=1, and each tested "
                    "alone"};
        }
        return {Errc::invalid_input, run.ranks == 0
                                         ? "no list of ranks (# Using devices) before the table"
                                         : "only one rank took part"};
    }

    std::string csv_ = "collective,ranks,nodes,size_bytes,time_us,dtype,gpu,nccl_version,run,row\n";
    TestRun run_;
    std::string version_;
    bool has_root_ = false, in_table_ = false;
    int runs_ = 0, rows_ = 0;
    std::optional<Error> error_;  // of the first run that cannot be used
};

}  // namespace

bool is_nccl_tests_log(std::string_view text) {
    bool found = false;
    each_line(text, [&](std::string_view line) {
        bool const may_be = !found && line.find("redop") != std::string_view::npos;
        found = found || (may_be && is_header(words_of(without_label(line))));
    });
    return found;
}

Result<std::string> csv_of_nccl_tests(std::string_view log) {
    NcclTestsLog reading;
    each_line(log, [&](std::string_view line) { reading.take(line); });
    return std::move(reading).csv();
}

}  // namespace osora::topology
