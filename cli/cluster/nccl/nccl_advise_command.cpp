// osora nccl advise: which settings of NCCL and Gloo a run should have, and why.
#include "cli/cluster/advice_inputs.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace osora::cli {
namespace {

namespace json = protocol::json;

constexpr int kAdviceIndent = 4;

json::array settings_json(plan::NcclAdvice const& advice) {
    json::array list;
    for (auto const& each : advice.settings) {
        list.push_back({{"name", each.name},
                        {"value", each.value},
                        {"class", std::string(1, each.cls)},
                        {"origin", each.origin},
                        {"reason", each.reason},
                        {"nodes", protocol::to_json(each.nodes)},
                        {"place", each.place},
                        {"phase", each.preflight ? "preflight" : "run"}});
    }
    return list;
}

int print_as_json(plan::NcclAdvice const& advice) {
    json::array inherited, candidates;
    for (auto const& each : advice.inherited) {
        inherited.push_back({{"name", each.name},
                             {"value", each.value},
                             {"origin", each.origin},
                             {"class", std::string(1, each.cls)},
                             {"advice", each.advice},
                             {"nodes", protocol::to_json(each.nodes)}});
    }
    for (auto const& each : advice.candidates) {
        candidates.push_back({{"name", each.name},
                              {"values", protocol::to_json(each.values)},
                              {"with", protocol::to_json(each.with)},
                              {"reason", each.reason},
                              {"when", each.when}});
    }
    print_json("nccl_advise", {{"settings", settings_json(advice)},
                               {"inherited", inherited},
                               {"candidates", candidates},
                               {"warnings", protocol::to_json(advice.warnings)}});
    return kExitOk;
}

std::string advice_item(std::string const& head, std::string const& body) {
    return filled(printable(head), 1, kColumns) + filled(printable(body), kAdviceIndent, kColumns);
}

std::string on_nodes(std::vector<std::string> const& nodes) {
    return nodes.empty() ? std::string() : " on " + nodes_text(nodes);
}

std::string settings_text(plan::NcclAdvice const& advice, bool preflight) {
    std::string text;
    for (auto const& each : advice.settings) {
        if (each.preflight != preflight) continue;
        auto const place = each.place.empty() ? std::string() : ": " + each.place;
        text += advice_item(fmt::format("{}={}{}", each.name, each.value, on_nodes(each.nodes)),
                            fmt::format("{}, {}{}: {}", each.cls, each.origin, place, each.reason));
    }
    return text;
}

std::string section(std::string_view title, std::string const& body) {
    return body.empty() ? std::string() : fmt::format("\n{}\n{}", title, body);
}

int print_as_text(plan::NcclAdvice const& advice, std::string const& title) {
    std::string inherited, candidates, warnings;
    for (auto const& each : advice.inherited) {
        inherited += advice_item(
            fmt::format("{}={}{} ({})", each.name, each.value, on_nodes(each.nodes), each.origin),
            fmt::format("{}: {}", each.cls, each.advice));
    }
    for (auto const& each : advice.candidates) {
        std::string with;
        for (auto const& [name, value] : each.with) with += fmt::format(" with {}={}", name, value);
        candidates +=
            advice_item(fmt::format("{}: {}{}", each.name, fmt::join(each.values, " or "), with),
                        each.reason + "; " + each.when);
    }
    for (auto const& each : advice.warnings) warnings += filled(printable(each), 1, kColumns);
    auto const set = settings_text(advice, false);
    cli::print("{}{}", title + "\n", set.empty() ? "nothing to set\n" : "\nset\n" + set);
    cli::print("{}{}{}{}", section("look at", warnings), section("inherited", inherited),
               section("while nodes are checked before the start", settings_text(advice, true)),
               section("to be measured: osora tune --nccl", candidates));
    cli::print("\nclasses: P from the probe, J by measurement, S of the site, B never left on\n");
    return kExitOk;
}

int run_nccl_advise(Context const& context, Arguments const& arguments) {
    auto const sources = advice_sources(context, arguments);
    if (sources.has_error()) return sources.error();
    auto const advice = plan::advise_nccl(sources->inputs);
    if (arguments.has("--json")) return print_as_json(advice);
    return print_as_text(advice, sources->title);
}

}  // namespace

CommandSpec nccl_advise_command() {
    return {.name = "nccl advise",
            .summary = "which NCCL and Gloo settings a run should have, and why",
            .details =
                "Looks at machines (this one, recorded ones, or a topology), a probe, the run "
                "file's [nccl] and what ranks would inherit, and prints the settings that follow, "
                "for each node where nodes differ; what is inherited and should go, with the file "
                "that sets it; and what only a measurement can decide. Your own values always "
                "win. Nothing is changed.",
            .example = "osora nccl advise stage1.toml --topology cluster.json --probe probe.json",
            .positionals = {run_file_positional(false)},
            .options = advice_options(),
            .run = run_nccl_advise};
}

}  // namespace osora::cli
