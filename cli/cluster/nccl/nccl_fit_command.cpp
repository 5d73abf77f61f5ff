// osora nccl fit: t(S) = a + bS + c sqrt(S) from a few measured sizes, and times from it.
#include "base/text/units.hpp"
#include "cli/cluster/nccl/nccl_inputs.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using topology::CollectiveFit;
using topology::SampleGroup;

struct FittedGroup {
    SampleGroup group;
    CollectiveFit fit;
};

/// The groups that --collective, --ranks and --nodes select.
Result<std::vector<SampleGroup>> wanted(std::vector<SampleGroup> groups,
                                        Arguments const& arguments) {
    auto const collective = arguments.value("--collective");
    OSORA_TRY(auto const ranks, arguments.number("--ranks", 1, 1 << 20));
    OSORA_TRY(auto const nodes, arguments.number("--nodes", 1, 1 << 20));
    std::optional<topology::Collective> named;
    if (collective) {
        OSORA_TRY(named, topology::parse_collective(*collective));
    }
    std::string const first = group_title(groups.front().collective, groups.front().shape);
    std::erase_if(groups, [&](SampleGroup const& each) {
        return (named && each.collective != *named) || (ranks && each.shape.ranks != *ranks) ||
               (nodes && each.shape.nodes != *nodes);
    });
    if (groups.empty()) {
        return Error{Errc::not_found, "no samples of that group; the first there: " + first};
    }
    return groups;
}

Result<std::vector<FittedGroup>> fitted(std::vector<SampleGroup> const& groups) {
    std::vector<FittedGroup> fits;
    for (SampleGroup const& group : groups) {
        auto fit = topology::fit_collective(group.shape, group.samples);
        if (fit.has_error()) {
            return std::move(fit).error().in(group_title(group.collective, group.shape));
        }
        fits.push_back({group, std::move(*fit)});
    }
    return fits;
}

protocol::json::object members_of(FittedGroup const& each, std::vector<std::int64_t> const& sizes) {
    protocol::json::array predictions;
    for (std::int64_t const size : sizes) {
        predictions.push_back({{"size_bytes", size},
                               {"time_us", topology::predict_us(each.fit, size)},
                               {"error", topology::expected_error(each.fit, size)}});
    }
    protocol::json::array notes;
    for (std::string const& note : each.fit.notes) notes.emplace_back(note);
    return {{"collective", topology::collective_name(each.group.collective)},
            {"ranks", each.group.shape.ranks},
            {"nodes", each.group.shape.nodes},
            {"a_us", each.fit.law.a_us},
            {"b_us_per_byte", each.fit.law.b_us_per_byte},
            {"c_us_per_sqrt_byte", each.fit.law.c_us_per_sqrt_byte},
            {"predictions", std::move(predictions)},
            {"method", each.fit.method},
            {"notes", std::move(notes)}};
}

std::string render(FittedGroup const& each, std::vector<std::int64_t> const& sizes) {
    auto const& [group, fit] = each;
    std::string text = group_title(group.collective, group.shape) + "\n";
    TextTable table;
    table.columns = {{"size", "size_bytes"},
                     {"time", "time_us"},
                     {"±", "error"},
                     {"algbw GB/s", "algbw_gbps"},
                     {"busbw GB/s", "busbw_gbps"}};
    for (std::int64_t const size : sizes) {
        double const time = topology::predict_us(fit, size);
        double const gbps = static_cast<double>(size) / time / 1e3;
        double const bus = gbps * topology::bus_factor(group.collective, group.shape.ranks);
        table.rows.push_back({text_cell(format_bytes(size)), text_cell(microseconds(time)),
                              percent_cell(topology::expected_error(fit, size)), number_cell(gbps),
                              number_cell(bus)});
    }
    if (!sizes.empty()) text += draw_text(table);
    auto const& law = fit.law;
    auto const sizes_text = fmt::format("{} sizes, {} to {}", fit.samples.size(),
                                        format_bytes(fit.samples.front().size_bytes),
                                        format_bytes(fit.samples.back().size_bytes));
    text += fmt::format(" t(S) = {:.4g} us + {:.4g} us/MiB S + {:.4g} us/sqrt(MiB) sqrt(S)\n",
                        law.a_us, law.b_us_per_byte * kMiB,
                        law.c_us_per_sqrt_byte * std::sqrt(static_cast<double>(kMiB)));
    text += fmt::format(" from {}\n times: {}\n", sizes_text, fit.method);
    for (std::string const& note : fit.notes) text += fmt::format(" note: {}\n", note);
    return text;
}

int run_nccl_fit(Context const& /*context*/, Arguments const& arguments) {
    auto const file = arguments.value("--samples");
    if (!file) return fail(kExitUsage, "nccl fit: --samples FILE is needed");
    std::vector<std::int64_t> sizes;
    if (auto const list = arguments.value("--predict")) {
        auto parsed = parse_sizes(*list);
        if (parsed.has_error()) return fail(kExitUsage, "--predict: " + parsed.error().message);
        sizes = std::move(*parsed);
    }
    auto groups = read_samples(*file);
    if (groups.has_error()) return fail(nccl_exit_code(groups.error()), groups.error().message);
    auto const chosen = wanted(std::move(*groups), arguments);
    if (chosen.has_error()) return fail(nccl_exit_code(chosen.error()), chosen.error().message);
    auto const fits = fitted(*chosen);
    if (fits.has_error()) {
        return fail(nccl_exit_code(fits.error()), *file + ": " + fits.error().message);
    }
    for (FittedGroup const& each : *fits) {
        if (arguments.has("--json")) {
            print_json("nccl_fit", members_of(each, sizes));
        } else {
            cli::print("{}{}", &each == fits->data() ? "" : "\n", render(each, sizes));
        }
    }
    return kExitOk;
}

}  // namespace

CommandSpec nccl_fit_command() {
    return {.name = "nccl fit",
            .summary = "cost of a collective from a few measured sizes",
            .details =
                "Fits t(S) = a + bS + c sqrt(S) to the measured times of each collective and group "
                "of ranks, with a, b, c not negative, by least squares on the relative error, and "
                "says how long other sizes take. 1 MiB, 32 MiB and 1 GiB are enough; 4 MiB is the "
                "best fourth. Exit code 3 when a group has fewer than two sizes.",
            .example = "osora nccl fit --samples sweep.csv --predict 4MiB,25MiB,200MiB",
            .positionals = {},
            .options = {samples_option(),
                        {.name = "--predict",
                         .value = "SIZES",
                         .help = "Sizes to predict the time of: 1M,32MiB,1073741824."},
                        collective_option(),
                        ranks_option(),
                        nodes_option(),
                        json_option("Print JSON (osora.nccl_fit/1), a line for each group.")},
            .run = run_nccl_fit};
}

}  // namespace osora::cli
