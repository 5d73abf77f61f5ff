#include "topology/collectives/sweep.hpp"

#include "topology/csv_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <span>

namespace osora::topology {
namespace {

constexpr std::int64_t kSweepSizeMax = 1'000'000'000'000'000;  // 1 PB

using ColumnNames = std::array<std::string_view, 2>;
constexpr ColumnNames kCollective{"collective", "op"}, kRanks{"ranks", "gpus"};
constexpr ColumnNames kSize{"size_bytes", "bytes"}, kTime{"time_us", "latency_us"};

/// The one of `names` that the header has.
Result<std::string_view> column_of(CsvTable const& table, ColumnNames const& names) {
    for (std::string_view const name : names)
        if (table.has(name)) return name;
    return Error{Errc::invalid_input,
                 fmt::format("line 1: no column '{}' (or '{}')", names[0], names[1])};
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view csv, std::string_view version) {
    OSORA_TRY(CsvTable table, CsvTable::open(csv, {}));
    OSORA_TRY(auto const collective, column_of(table, kCollective));
    OSORA_TRY(auto const ranks, column_of(table, kRanks));
    OSORA_TRY(auto const size, column_of(table, kSize));
    OSORA_TRY(auto const time, column_of(table, kTime));
    Sweep sweep;
    std::set<std::string> others;
    std::set<std::vector<std::string>> seen;
    for (;;) {
        OSORA_TRY(bool const more, table.next());
        if (!more) break;
        if (!seen.insert(table.fields()).second) continue;
        SweepKey key;
        auto const named = parse_collective(table.text(collective));
        if (named.has_error()) return table.error(named.error().message);
        key.collective = *named;
        OSORA_TRY(auto const rank_count, table.integer(ranks, 1, 1 << 20));
        key.shape = {static_cast<int>(rank_count), 1};
        if (!table.text("nodes").empty()) {
            OSORA_TRY(auto const nodes, table.integer("nodes", 1, 1 << 20));
            key.shape.nodes = static_cast<int>(nodes);
        }
        if (auto const good = check_shape(key.shape); good.has_error())
            return table.error(good.error().message);
        key.gpu = table.text("gpu");
        key.dtype = table.text("dtype");
        OSORA_TRY(auto const bytes, table.integer(size, 1, kSweepSizeMax));
        OSORA_TRY(double const time_us,
                  table.number(time, std::numeric_limits<double>::min(), 1e15));
        std::string const of(table.text("nccl_version"));
        if (!version.empty() && of != version) {
            others.insert(of.empty() ? "none" : of);
            continue;
        }
        if (!of.empty()) sweep.versions.insert(of);
        sweep.curves[key][bytes].push_back(time_us);
    }
    if (!sweep.curves.empty()) return sweep;
    if (others.empty()) return Error{Errc::not_found, "no samples, only a header"};
    return Error{Errc::not_found, fmt::format("no samples of NCCL {:.40}; there are: {}", version,
                                              fmt::join(others, ", "))};
}

}  // namespace osora::topology
