// osora explain: an error in full.
#include "base/text/nearest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/explanations.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace osora::cli {
namespace {

namespace json = protocol::json;

constexpr int kTextColumn = 9;

std::string block(std::string_view label, std::string_view lines) {
    std::string text;
    for (auto const line : split(lines, '\n')) text += filled(line, kTextColumn, kColumns);
    return fmt::format("{:<{}}{}", label, kTextColumn, text.substr(kTextColumn));
}

std::string whole_text(Explanation const& each) {
    std::string code = fmt::format("{} of osora", each.exit_code);
    if (each.worker_exit_code != 0)
        code += fmt::format(", {} of osora-worker", each.worker_exit_code);
    return fmt::format("{}: {}\n\n{}{}{}{}", each.id, each.title, block("means", each.meaning),
                       block("because", each.causes), block("do", each.next), block("exit", code));
}

json::array texts(std::string_view lines) {
    json::array all;
    for (auto const& line : split(lines, '\n')) all.emplace_back(line);
    return all;
}

json::object object_of(Explanation const& each) {
    return {{"id", each.id},
            {"title", each.title},
            {"meaning", each.meaning},
            {"causes", texts(each.causes)},
            {"next", texts(each.next)},
            {"exit_code", each.exit_code},
            {"worker_exit_code", each.worker_exit_code}};
}

int unknown(std::string_view wanted) {
    std::vector<std::string_view> ids;
    for (Explanation const& each : explanations()) ids.push_back(each.id);
    auto near = nearest_name(wanted, ids);
    if (!near) near = nearest_name("E-" + std::string(wanted), ids);
    return fail(kExitUsage,
                fmt::format("{}: no such error{}; osora explain lists all", printable(wanted),
                            near ? fmt::format("; did you mean {}?", *near) : std::string()));
}

int run_explain(Context const&, Arguments const& arguments) {
    bool const as_json = arguments.has("--json");
    auto const wanted = arguments.value("ID");
    if (!wanted) {
        json::array all;
        for (Explanation const& each : explanations()) {
            if (as_json) {
                all.push_back(object_of(each));
            } else {
                cli::print("{:<18} {}\n", each.id, each.title);
            }
        }
        if (as_json) print_json("explain", {{"errors", std::move(all)}});
        return kExitOk;
    }
    Explanation const* const found = find_explanation(*wanted);
    if (found == nullptr) return unknown(*wanted);
    if (as_json) {
        print_json("explain", {{"errors", json::array{object_of(*found)}}});
    } else {
        cli::print("{}", whole_text(*found));
    }
    return kExitOk;
}

}  // namespace

CommandSpec explain_command() {
    return {.name = "explain",
            .summary = "an error in full: what it means, why, and what to do",
            .details =
                "ID is what the end of a failed run and osora's error messages name, with or "
                "without E-, or an exit code of osora-worker. Without ID all errors are listed.",
            .example = "osora explain E-comm\nosora explain 13",
            .positionals = {{.name = "ID", .help = "As in E-comm.", .required = false}},
            .options = {json_option()},
            .run = run_explain};
}

}  // namespace osora::cli
