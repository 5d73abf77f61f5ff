// osora nccl predict: how long a collective takes, from samples, NCCL's model, or both.
#include "base/text/units.hpp"
#include "cli/cluster/nccl/nccl_inputs.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "topology/nccl/collective_predict.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace osora::cli {
namespace {

Result<topology::CollectiveQuestion> question_of(Arguments const& arguments) {
    auto const collective = arguments.value("--collective");
    auto const size = arguments.value("--size");
    OSORA_TRY(auto const ranks, arguments.number("--ranks", 2, 1 << 20));
    OSORA_TRY(auto const nodes, arguments.number("--nodes", 1, 1 << 20));
    if (!collective || !size || !ranks) {
        return Error{Errc::invalid_input, "--collective, --ranks and --size are needed"};
    }
    topology::CollectiveQuestion question;
    OSORA_TRY(question.collective, topology::parse_collective(*collective));
    OSORA_TRY(question.size_bytes, topology::parse_size_bytes(*size));
    question.shape = {*ranks, nodes.value_or(1)};
    OSORA_TRY_VOID(topology::check_shape(question.shape));
    return question;
}

struct Inputs {
    std::vector<topology::SampleGroup> samples;
    std::vector<topology::NcclGroup> graphs;
    topology::NcclVersion version;
};

Result<Inputs> inputs_of(Arguments const& arguments) {
    Inputs inputs;
    auto const samples = arguments.value("--samples");
    auto const graphs = arguments.value("--graphs");
    if (!samples && !graphs) {
        return Error{Errc::invalid_input, "--samples FILE or --graphs FILE is needed"};
    }
    OSORA_TRY(inputs.version, nccl_version(arguments));
    if (samples) {
        OSORA_TRY(inputs.samples, read_samples(*samples));
    }
    if (!graphs) return inputs;
    auto const machine = arguments.value("--topo");
    OSORA_TRY(inputs.graphs, read_graphs(*graphs, machine));
    std::set<std::string> names;
    for (auto const& each : inputs.graphs) names.insert(each.topology);
    if (names.size() > 1) {
        return Error{Errc::invalid_input, fmt::format("{} holds {} topologies; name one: --topo {}",
                                                      *graphs, names.size(), *names.begin())};
    }
    return inputs;
}

void print_answer(topology::CollectiveQuestion const& question,
                  topology::CollectiveAnswer const& answer) {
    double const gbps = static_cast<double>(question.size_bytes) / answer.time_us / 1e3;
    double const bus = gbps * topology::bus_factor(question.collective, question.shape.ranks);
    cli::print("{} ± {:.0f} %: {} of {} over {}\n", microseconds(answer.time_us),
               answer.error * 100, topology::collective_name(question.collective),
               format_bytes(question.size_bytes), topology::describe(question.shape));
    cli::print(" algbw {} GB/s · busbw {} GB/s\n", three_digits(gbps), three_digits(bus));
    auto const print_filled = [](std::string const& text) {
        cli::print("{}", filled(printable(text), 1, kColumns));
    };
    print_filled(fmt::format("{}: {}", answer.method, answer.details));
    if (!answer.choice.empty()) print_filled("NCCL's model: " + answer.choice);
}

int run_nccl_predict(Context const& /*context*/, Arguments const& arguments) {
    auto const question = question_of(arguments);
    if (question.has_error()) return fail(kExitUsage, "nccl predict: " + question.error().message);
    auto const inputs = inputs_of(arguments);
    if (inputs.has_error()) {
        return fail(nccl_exit_code(inputs.error()), "nccl predict: " + inputs.error().message);
    }
    auto const answer = topology::predict_collective(
        *question, {.samples = inputs->samples,
                    .graphs = inputs->graphs,
                    .constants = topology::nccl_constants(inputs->version)});
    if (answer.has_error()) {
        return fail(nccl_exit_code(answer.error()), "nccl predict: " + answer.error().message);
    }
    if (!arguments.has("--json")) {
        print_answer(*question, *answer);
        return kExitOk;
    }
    print_json("nccl_predict", {{"collective", topology::collective_name(question->collective)},
                                {"ranks", question->shape.ranks},
                                {"nodes", question->shape.nodes},
                                {"size_bytes", question->size_bytes},
                                {"time_us", answer->time_us},
                                {"error", answer->error},
                                {"method", answer->method},
                                {"details", answer->details},
                                {"choice", answer->choice}});
    return kExitOk;
}

}  // namespace

CommandSpec nccl_predict_command() {
    return {.name = "nccl predict",
            .summary = "time of a collective, from samples or NCCL's model",
            .details =
                "Says how long a collective takes in a group of ranks and how far to trust that. "
                "Measured samples of the same group come first; those of another group are carried "
                "over by the ratio that NCCL's model gives (--graphs as well), or by the steps of "
                "a ring. Exit code 3 when nothing given can answer.",
            .example =
                "osora nccl predict --collective all_reduce --ranks 128 --nodes 16 \\\n"
                "    --size 32MiB --samples sweep.csv --graphs graphs.csv",
            .positionals = {},
            .options = {collective_option(),
                        ranks_option(),
                        {.name = "--nodes", .value = "N", .help = "Nodes of the group; 1."},
                        {.name = "--size", .value = "SIZE", .help = "32MiB, 1G, 4096."},
                        samples_option(),
                        graphs_option(),
                        {.name = "--topo",
                         .value = "NAME",
                         .help = "Which topology of the graphs, where there are several."},
                        nccl_version_option(),
                        json_option()},
            .run = run_nccl_predict};
}

}  // namespace osora::cli
