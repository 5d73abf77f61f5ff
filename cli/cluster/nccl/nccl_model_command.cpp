// osora nccl model: what NCCL's own cost model says about the graphs of its search.
#include "base/files/files.hpp"
#include "base/text/printable.hpp"
#include "cli/cluster/nccl/nccl_inputs.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"
#include "topology/nccl/nccl_tuner_file.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

namespace osora::cli {
namespace {

using topology::NcclCost;
using topology::NcclGroup;

// 1 KiB to 1 GiB, four times each.
constexpr std::array<std::int64_t, 11> kSizes{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20,
                                              1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30};

void print_line(NcclGroup const& group, NcclCost const& cost) {
    protocol::json::object row{{"topo", group.topology},
                               {"nNodes", group.shape.nodes},
                               {"nRanks", group.shape.ranks},
                               {"coll", topology::nccl_name(cost.collective)},
                               {"algo", topology::algo_name(cost.algo)},
                               {"proto", topology::proto_name(cost.proto)},
                               {"latency_us", cost.latency_us},
                               {"algobw_GBps", cost.algbw_gbps}};
    for (std::int64_t const size : kSizes) {
        row[fmt::format("t_us_{}", size)] = topology::nccl_time_us(group, cost, size);
    }
    cli::print("{}\n", printable_json(protocol::json::serialize(row)));
}

/// The algorithms and protocols of a collective, their times at a small, a middle and a large size,
/// and NCCL's choice.
std::string render(NcclGroup const& group, topology::NcclConstants const& constants) {
    TextTable table;
    table.columns = {{"collective", "", false},
                     {"way", "", false},
                     {"latency", ""},
                     {"GB/s", ""},
                     {"64 KiB", ""},
                     {"4 MiB", ""},
                     {"256 MiB", ""}};
    constexpr std::array<std::int64_t, 3> kShown{1 << 16, 1 << 22, 1 << 28};
    for (NcclCost const& cost : topology::nccl_costs(group, constants)) {
        std::vector<TableCell> row{
            text_cell(std::string(topology::collective_name(cost.collective))),
            text_cell(fmt::format("{}/{}", topology::algo_name(cost.algo),
                                  topology::proto_name(cost.proto))),
            number_cell(cost.latency_us), number_cell(cost.algbw_gbps)};
        for (std::int64_t const size : kShown) {
            auto const best = topology::nccl_ranking(group, constants, cost.collective, size);
            bool const chosen =
                best.front().cost.algo == cost.algo && best.front().cost.proto == cost.proto;
            row.push_back(text_cell(three_digits(topology::nccl_time_us(group, cost, size)) +
                                    (chosen ? "*" : " ")));
        }
        table.rows.push_back(std::move(row));
    }
    return fmt::format("{} · {}; latency and times in us\n{}", group.topology,
                       topology::describe(group.shape), draw_text(table));
}

/// The choices of that version's model for every group, in the format of the tuner plug-in.
int write_tuner_file(std::vector<NcclGroup> const& groups, topology::NcclConstants const& constants,
                     std::string const& file, bool json) {
    topology::TunerFile tuner;
    std::set<topology::GroupShape> shapes;
    for (NcclGroup const& group : groups) {
        if (!shapes.insert(group.shape).second) {
            return fail(kExitUsage,
                        fmt::format("--tuner: {} in two topologies; name one: --topo {}",
                                    topology::describe(group.shape), group.topology));
        }
        auto const regions = topology::tuner_regions(group, constants);
        tuner.regions.insert(tuner.regions.end(), regions.begin(), regions.end());
    }
    auto const text = topology::encode_tuner_file(tuner);
    if (text.has_error()) return fail(kExitUsage, "--tuner " + file + ": " + text.error().message);
    if (auto const written = write_file_atomic(file, *text); written.has_error()) {
        return fail(written.error());
    }
    if (json) {
        print_json("nccl_tuner_file",
                   {{"file", file}, {"regions", tuner.regions.size()}, {"groups", groups.size()}});
    } else {
        cli::print("wrote {}: {} regions for {} groups\n", file, tuner.regions.size(),
                   groups.size());
    }
    return kExitOk;
}

int run_nccl_model(Context const& /*context*/, Arguments const& arguments) {
    auto const file = arguments.value("--graphs");
    if (!file) return fail(kExitUsage, "nccl model: --graphs FILE is needed");
    auto const version = nccl_version(arguments);
    if (version.has_error()) return fail(kExitUsage, version.error());
    auto const groups = read_graphs(*file, arguments.value("--topo"));
    if (groups.has_error()) return fail(nccl_exit_code(groups.error()), groups.error().message);
    auto const constants = topology::nccl_constants(*version);
    if (auto const tuner = arguments.value("--tuner")) {
        return write_tuner_file(*groups, constants, *tuner, arguments.has("--json"));
    }
    if (arguments.has("--json")) {
        for (NcclGroup const& group : *groups) {
            for (NcclCost const& cost : topology::nccl_costs(group, constants)) {
                print_line(group, cost);
            }
        }
        return kExitOk;
    }
    for (NcclGroup const& group : *groups) cli::print("{}\n", render(group, constants));
    cli::print("* NCCL {}'s choice. Its times are 1.2 to 2x too short from 1 to 256 MiB.\n",
               topology::describe(*version));
    return kExitOk;
}

}  // namespace

CommandSpec nccl_model_command() {
    return {
        .name = "nccl model",
        .summary = "NCCL's own cost model: every algorithm and protocol",
        .details =
            "Computes what NCCL computes when it chooses an algorithm and a protocol: latency, "
            "bandwidth and time of each for the channels that its search found. Good for "
            "ratios and for why it chose; its times are too short for 1 to 256 MiB. --tuner writes "
            "the choices of that version as a file for the tuner plug-in, so that another NCCL "
            "makes them too: NCCL_TUNER_PLUGIN=osora and OSORA_NCCL_TUNER_FILE. Reads the "
            "columns topo, nNodes, nRanks, cpuArch, cpuVendor, minCompCap, graph, pattern, "
            "nChannels, bwIntra_GBps, bwInter_GBps, typeIntra, typeInter, sameChannels and "
            "commChannels.",
        .example = "osora nccl model --graphs graphs.csv --nccl-version 2.27.5",
        .positionals = {},
        .options = {graphs_option(),
                    {.name = "--topo", .value = "NAME", .help = "Only the rows of that topology."},
                    nccl_version_option(),
                    {.name = "--tuner",
                     .value = "FILE",
                     .help = "Write the choices for libnccl-tuner-osora.so.",
                     .complete = Complete::file},
                    json_option("Print JSON lines, one for each algorithm and protocol.")},
        .run = run_nccl_model};
}

}  // namespace osora::cli
