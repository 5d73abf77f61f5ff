// osora nccl compare: whether collectives became slower between two sweeps of nccl-tests.
#include "base/text/units.hpp"
#include "cli/cluster/nccl/nccl_inputs.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/text_table.hpp"
#include "topology/collectives/sweep_compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

using topology::Change;
using topology::RangeChange;
using topology::Sweep;
using topology::SweepComparison;
using topology::SweepKey;

constexpr double kOverPercent = 10;
constexpr std::size_t kShownRows = 20;  // of each kind, for people

/// "H100 · all_reduce half · 8 ranks on 1 node"
std::string title_of(SweepKey const& key) {
    std::string title = key.gpu.empty() ? "" : key.gpu + " · ";
    title += topology::collective_name(key.collective);
    if (!key.dtype.empty()) title += " " + key.dtype;
    return title + " · " + topology::describe(key.shape);
}

protocol::json::object key_members(SweepKey const& key) {
    return {{"gpu", key.gpu},
            {"collective", topology::collective_name(key.collective)},
            {"dtype", key.dtype},
            {"ranks", key.shape.ranks},
            {"nodes", key.shape.nodes}};
}

char const* change_name(Change change) {
    return change == Change::slower ? "slower" : change == Change::faster ? "faster" : "none";
}

protocol::json::array changes_json(SweepComparison const& found) {
    protocol::json::array rows;
    for (RangeChange const& each : found.changes) {
        auto row = key_members(each.key);
        row["change"] = change_name(each.change);
        row["first_bytes"] = each.first_bytes;
        row["last_bytes"] = each.last_bytes;
        row["sizes"] = each.sizes;
        row["ratio"] = each.ratio;
        row["most"] = each.most;
        row["most_bytes"] = each.most_bytes;
        rows.push_back(std::move(row));
    }
    return rows;
}

protocol::json::array sizes_json(SweepComparison const& found) {
    protocol::json::array rows;
    for (auto const& curve : found.curves) {
        for (auto const& each : curve.sizes) {
            auto row = key_members(curve.key);
            row["size_bytes"] = each.size_bytes;
            row["before_us"] = each.before_us;
            row["after_us"] = each.after_us;
            row["ratio"] = each.ratio();
            row["spread"] = each.spread;
            row["change"] = change_name(each.change);
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

std::string sizes_text(RangeChange const& each) {
    auto const first = format_bytes(each.first_bytes);
    return each.sizes == 1 ? first : first + " to " + format_bytes(each.last_bytes);
}

std::string table_of(SweepComparison const& found, Change change) {
    TextTable table;
    table.columns = {{"what", "what", false},
                     {"sizes", "sizes", false},
                     {"after/before", "ratio"},
                     {"most", "most"},
                     {"at", "most_bytes"}};
    std::size_t left_out = 0;
    for (RangeChange const& each : found.changes) {
        if (each.change != change) continue;
        if (table.rows.size() == kShownRows) {
            ++left_out;
            continue;
        }
        table.rows.push_back({text_cell(title_of(each.key)), text_cell(sizes_text(each)),
                              ratio_cell(each.ratio), ratio_cell(each.most),
                              text_cell(format_bytes(each.most_bytes))});
    }
    if (table.rows.empty()) return "";
    std::string text = fmt::format("\n{}:\n{}", change_name(change), draw_text(table));
    if (left_out > 0) text += fmt::format(" and {} more: --json lists all\n", left_out);
    return text;
}

std::string versions_of(Sweep const& sweep) {
    return sweep.versions.empty() ? "" : fmt::format(" (NCCL {})", fmt::join(sweep.versions, ", "));
}

struct Sides {
    std::string before_file, after_file;
    Sweep before, after;
};

std::string render(Sides const& sides, SweepComparison const& found, double over) {
    std::string text = fmt::format("{}{} -> {}{}\n", sides.before_file, versions_of(sides.before),
                                   sides.after_file, versions_of(sides.after));
    text += fmt::format(" {} sizes of {} curves compared, {} only before, {} only after\n",
                        format_count(static_cast<std::int64_t>(found.paired)), found.curves.size(),
                        found.only_before, found.only_after);
    text += fmt::format(" one measurement scatters by {}; limit {}\n",
                        percent_cell(found.spread).text, percent_cell(over).text);
    std::string const slower = table_of(found, Change::slower);
    text += slower.empty() ? "\nnothing became slower\n" : slower;
    return text + table_of(found, Change::faster);
}

Result<Sweep> read_sweep(std::string const& file, std::optional<std::string> const& version) {
    OSORA_TRY(std::string const text, read_measurements(file));
    auto sweep = topology::parse_sweep(text, version.value_or(""));
    if (sweep.has_error()) return std::move(sweep).error().in(file);
    return sweep;
}

int run_nccl_compare(Context const& /*context*/, Arguments const& arguments) {
    auto const percent = arguments.real("--over", 0.1, 1000);
    if (percent.has_error()) return fail(kExitUsage, percent.error());
    double const over = percent->value_or(kOverPercent) / 100;
    Sides sides{*arguments.value("BEFORE.csv"), *arguments.value("AFTER.csv"), {}, {}};
    auto before = read_sweep(sides.before_file, arguments.value("--before"));
    if (before.has_error()) return fail(nccl_exit_code(before.error()), before.error().message);
    auto after = read_sweep(sides.after_file, arguments.value("--after"));
    if (after.has_error()) return fail(nccl_exit_code(after.error()), after.error().message);
    sides.before = std::move(*before);
    sides.after = std::move(*after);
    auto const found = topology::compare_sweeps(sides.before, sides.after, over);
    if (found.paired == 0) {
        return fail(kExitUndecided,
                    fmt::format("nothing to compare: {} has {}, {} has {}", sides.before_file,
                                title_of(sides.before.curves.begin()->first), sides.after_file,
                                title_of(sides.after.curves.begin()->first)));
    }
    auto const is_slower = [](RangeChange const& each) { return each.change == Change::slower; };
    bool const slower = std::ranges::any_of(found.changes, is_slower);
    if (arguments.has("--json")) {
        print_json("nccl_compare", {{"before", sides.before_file},
                                    {"after", sides.after_file},
                                    {"over", over},
                                    {"spread", found.spread},
                                    {"paired", found.paired},
                                    {"only_before", found.only_before},
                                    {"only_after", found.only_after},
                                    {"slower", slower},
                                    {"changes", changes_json(found)},
                                    {"sizes", sizes_json(found)}});
    } else {
        cli::print("{}", render(sides, found, over));
    }
    return slower ? kExitBad : kExitOk;
}

}  // namespace

CommandSpec nccl_compare_command() {
    return {.name = "nccl compare",
            .summary = "whether collectives got slower between two sweeps",
            .details =
                "Compares two sweeps of nccl-tests, say of two versions of NCCL on the same "
                "machines, size by size, and lists the ranges of sizes that became slower or "
                "faster. Only changes that exceed the scatter of the measurements count. The files "
                "are what nccl-tests printed (out-of-place times), or CSV. Columns: "
                "collective (or op), "
                "ranks (gpus), size_bytes (bytes), time_us (latency_us), and optionally nodes, "
                "dtype, gpu, nccl_version; repeats of a size are rows. Exit code 1 when something "
                "became slower, 3 when the sweeps have nothing in common.",
            .example = "osora nccl compare nccl-2.27.csv nccl-2.29.csv --over 10",
            .positionals = {{"BEFORE.csv", "The sweep that is compared with.", Complete::file},
                            {"AFTER.csv", "The newer sweep.", Complete::file}},
            .options = {{.name = "--over",
                         .value = "PERCENT",
                         .help = "Slower by this much is reported (default 10)."},
                        {.name = "--before",
                         .value = "VERSION",
                         .help = "Only rows of this nccl_version in BEFORE.csv."},
                        {.name = "--after",
                         .value = "VERSION",
                         .help = "Only rows of this nccl_version in AFTER.csv."},
                        json_option("Print JSON (osora.nccl_compare/1).")},
            .run = run_nccl_compare};
}

}  // namespace osora::cli
