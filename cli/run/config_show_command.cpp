// osora config show: the settings that a run would get, and the origin of each.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/run_secrets.hpp"
#include "plan/config/fields.hpp"
#include "protocol/secret_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace osora::cli {
namespace {

struct Setting {
    std::string key;
    std::string value;  // TOML
};

/// Shows secrets as digests, because users paste this output elsewhere.
std::vector<Setting> settings_of(plan::RunConfig const& resolved, std::string const& key) {
    std::vector<Setting> settings;
    auto config = shown_config(resolved, key);
    for (plan::Field const& field : plan::fields_of(config)) {
        if (std::holds_alternative<plan::StringMap*>(field.value)) continue;
        settings.push_back({fmt::format("{}.{}", field.row->section, field.row->key),
                            plan::toml_value(field.value, *field.row)});
    }
    for (std::size_t i = 0; i < config.bucket.size(); ++i) {
        for (plan::Field const& field : plan::fields_of(config.bucket[i])) {
            settings.push_back({fmt::format("bucket[{}].{}", i, field.row->key),
                                plan::toml_value(field.value, *field.row)});
        }
    }
    for (auto const& [name, value] : config.nccl) {
        settings.push_back({"nccl." + plan::toml_key(name), plan::toml_string(value)});
    }
    for (auto const& [name, value] : config.worker.env) {
        settings.push_back({"worker.env." + plan::toml_key(name), plan::toml_string(value)});
    }
    return settings;
}

/// "" if no run was submitted yet.
std::string key_of_state(Context const& context) {
    auto const state = state_dir(context.environment);
    return state.has_value() ? protocol::known_secret_key(*state) : "";
}

std::string origin_text(plan::Origins const& origins, std::string const& key) {
    auto const found = origins.find(key);
    if (found == origins.end()) return "default";
    plan::Origin const& origin = found->second;
    if (origin.layer == plan::Layer::command_line) return "--set";
    return fmt::format("{}:{}", origin.file, origin.line);
}

/// Whether the problem is a rule between keys, broken by a value that was read from --set.
bool is_rule_of_set_key(plan::ResolvedConfig const& resolved, plan::ConfigProblem const& problem) {
    return std::ranges::any_of(resolved.origins, [&](auto const& each) {
        auto const& [key, origin] = each;
        return origin.layer == plan::Layer::command_line && !resolved.unread.contains(key) &&
               (problem.message.starts_with(key + " = ") ||
                problem.message.starts_with(key + ": "));
    });
}

/// What is wrong whatever the run: all problems of a run file; without one only --set options that
/// cannot be read, because missing keys of the job (a manifest, buckets) are no errors then.
std::vector<plan::ConfigProblem> errors_of(plan::ResolvedConfig const& resolved, bool has_file) {
    if (has_file) return resolved.problems;
    std::vector<plan::ConfigProblem> errors;
    std::ranges::copy_if(resolved.problems, std::back_inserter(errors), [&](auto const& each) {
        return each.where.layer == plan::Layer::command_line && !is_rule_of_set_key(resolved, each);
    });
    return errors;
}

int run_config_show(Context const& context, Arguments const& arguments) {
    auto const resolved = plan::load_config(config_request(context, arguments));
    auto const errors = errors_of(resolved, arguments.has("RUN.toml"));
    auto const settings = settings_of(resolved.config, key_of_state(context));
    if (arguments.has("--json")) {
        protocol::json::object keys;
        for (Setting const& each : settings) {
            keys[each.key] = {{"value", each.value},
                              {"origin", origin_text(resolved.origins, each.key)}};
        }
        print_json("config", {{"keys", keys}, {"problems", problems_json(resolved.problems)}});
    } else {
        for (Setting const& each : settings) {
            std::string const line = fmt::format("{} = {}", each.key, each.value);
            if (arguments.has("--origin")) {
                cli::print("{:<44}  # {}\n", line, origin_text(resolved.origins, each.key));
            } else {
                cli::print("{}\n", line);
            }
        }
        cli::print(stderr, "{}", problem_list(errors));
    }
    return errors.empty() ? kExitOk : kExitUsage;
}

}  // namespace

CommandSpec config_show_command() {
    return {.name = "config show",
            .summary = "what a run would get, and from where",
            .details =
                "Prints every key with its value, after the layers: defaults, the site's "
                "file, the user's file, the run file, --set. With --origin also the place "
                "that wrote it last.",
            .example = "osora config show --origin stage1.toml --set train.steps=50",
            .positionals = {run_file_positional(false)},
            .options = {{.name = "--origin",
                         .value = "",
                         .help = "Add file and line that each value comes from."},
                        set_option(),
                        json_option()},
            .run = run_config_show};
}

}  // namespace osora::cli
