// Rows and text.
#include "cli/command/run_file_command.hpp"

#include "base/text/printable.hpp"

#include <fmt/format.h>

namespace osora::cli {

PositionalSpec run_file_positional(bool required) {
    return {.name = "RUN.toml",
            .help = "Run file; relative paths in it start at its folder.",
            .complete = Complete::run_file,
            .required = required};
}

OptionSpec set_option() {
    return {.name = "--set",
            .value = "SECTION.KEY=VALUE",
            .help = "Change a key of the run file; lists and tables as in TOML.",
            .complete = Complete::config_key,
            .repeated = true};
}

OptionSpec columns_option() {
    return {.name = "--columns",
            .value = "NAME=COLUMN",
            .help =
                "What a column of the clips is called, as [data] columns says it: path=video, "
                "text=caption; height= says that there is none. Repeatable.",
            .repeated = true};
}

OptionSpec manifest_option() {
    return {.name = "--manifest",
            .value = "CSV",
            .help = "The clips (CSV or JSON lines), with Open-Sora's columns; path alone will do.",
            .complete = Complete::file};
}

OptionSpec deadline_option(std::string_view help) {
    return {.name = "--deadline", .value = "S", .help = help};
}

OptionSpec workers_option(std::string_view help) {
    return {.name = "--workers", .value = "N", .help = help};
}

OptionSpec json_option(std::string_view help) {
    return {.name = "--json", .value = "", .help = help};
}

plan::ConfigRequest config_request(Context const& context, Arguments const& arguments) {
    plan::ConfigRequest request;
    request.site_file = context.site_file;
    request.user_file = context.user_file;
    request.run_file = arguments.value("RUN.toml").value_or("");
    request.sets = arguments.all("--set");
    return request;
}

std::string problem_list(std::vector<plan::ConfigProblem> const& problems) {
    if (problems.empty()) return "";
    std::string text;
    for (auto const& each : problems) text += printable(plan::to_text(each), "\n\t") + "\n";
    return text + fmt::format("{} error{}\n", problems.size(), problems.size() == 1 ? "" : "s");
}

protocol::json::array problems_json(std::vector<plan::ConfigProblem> const& problems) {
    protocol::json::array list;
    for (auto const& each : problems) {
        list.push_back({{"file", each.where.file},
                        {"line", each.where.line},
                        {"column", each.column},
                        {"layer", protocol::to_json(each.where.layer)},
                        {"message", each.message}});
    }
    return list;
}

}  // namespace osora::cli
