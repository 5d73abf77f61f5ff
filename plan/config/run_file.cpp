// Parses the layers, applies them over the defaults, sorts the problems.
#include "plan/config/run_file.hpp"

#include "plan/config/cross_checks.hpp"
#include "plan/config/layer_reader.hpp"
#include "plan/config/read_value.hpp"
#include "plan/config/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

namespace osora::plan {
namespace {

/// The first sentence of toml++'s description without its "Error while parsing X: ".
std::string syntax_message(toml::parse_error const& error) {
    std::string_view text = error.description();
    constexpr std::string_view kPrefix = "Error while parsing ";
    if (!text.starts_with(kPrefix)) return std::string(text);
    auto const colon = text.find(": ");
    if (colon == std::string_view::npos) return std::string(text);
    return fmt::format("{} (in a {})", text.substr(colon + 2),
                       text.substr(kPrefix.size(), colon - kPrefix.size()));
}

void read_text(ConfigText const& source, ResolvedConfig& into, StageTables& stages) {
    Origin const origin{source.layer, source.file, 0};
    auto const refuse = [&](std::string message) {
        into.whole = false;
        into.problems.push_back({origin, 0, std::move(message)});
    };
    if (auto const zero = source.text.find('\0'); zero != std::string::npos) {
        return refuse(fmt::format("not a text file: a zero byte at offset {}", zero));
    }
    if (source.layer == Layer::run &&
        source.text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return refuse("empty; osora init writes a run file to start from");
    }
    try {
        toml::table root = toml::parse(std::string_view(source.text), source.file);
        LayerReader(into, origin).read(root);
        // Moved, not copied: copies of nodes lose their lines.
        if (auto* tables = root.get_as<toml::array>("stage")) stages = {std::move(*tables), origin};
    } catch (toml::parse_error const& error) {  // the parse boundary
        into.whole = false;
        Origin place = origin;
        place.line = static_cast<int>(error.source().begin.line);
        into.problems.push_back(
            {place, static_cast<int>(error.source().begin.column), syntax_message(error)});
    }
}

/// `raw` as the only value of a table with the key "value"; nullopt when it is not TOML.
std::optional<toml::table> as_toml(std::string_view raw) {
    try {
        toml::table table = toml::parse("value = " + std::string(raw));
        if (table.size() == 1) return table;
    } catch (toml::parse_error const&) {  // the parse boundary: the value is a plain word then
    }
    return std::nullopt;
}

/// The table of strings that "env.PATH" of [worker], or "columns.text" of [data], is an entry of;
/// empty: none.
std::string_view string_table(std::string_view section, std::string_view key) {
    if (section == "worker" && key.starts_with("env.")) return "env";
    if (section == "data" && key.starts_with("columns.")) return "columns";
    return {};
}

bool wants_text(std::string_view section, std::string_view key) {
    if (section == "nccl" || !string_table(section, key).empty()) return true;
    RunConfig config;
    BucketSection bucket;
    auto fields = fields_of(config);
    for (Field const& each : fields_of(bucket)) fields.push_back(each);
    return std::ranges::any_of(fields, [&](Field const& each) {
        return each.row->section == section && each.row->key == key &&
               (std::holds_alternative<std::string*>(each.value) ||
                std::holds_alternative<AutoOr<std::string>*>(each.value));
    });
}

/// "bucket[1]" -> 1.
std::optional<std::size_t> bucket_index(std::string_view section) {
    constexpr std::string_view kOpen = "bucket[";
    if (!section.starts_with(kOpen) || !section.ends_with(']')) return std::nullopt;
    auto const digits = section.substr(kOpen.size(), section.size() - kOpen.size() - 1);
    std::size_t index = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return index;
}

void apply_set(std::string const& set, ResolvedConfig& into) {
    Origin const origin{Layer::command_line, "", 0};
    auto const equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
        into.problems.push_back(
            {origin, 0, fmt::format("{}: expected SECTION.KEY=VALUE, as in train.steps=100", set)});
        return;
    }
    std::string_view const path = std::string_view(set).substr(0, equals);
    std::string const raw = set.substr(equals + 1);
    auto const dot = path.find('.');
    std::string_view const section = path.substr(0, dot);
    std::string_view const key = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    auto const index = bucket_index(section);

    bool const quoted = raw.starts_with('"') || raw.starts_with('\'');
    std::optional<toml::table> value;
    if (quoted || !wants_text(index ? "bucket" : section, key)) value = as_toml(raw);
    if (!value) value = toml::table{{"value", raw}};
    toml::table inner;
    if (auto const table = string_table(section, key); !table.empty()) {
        inner.insert(table, toml::table{{key.substr(table.size() + 1), *value->get("value")}});
    } else if (!key.empty()) {
        inner.insert(key, *value->get("value"));
    }
    LayerReader reader(into, origin);
    if (index) return reader.read_bucket(*index, inner);
    toml::table root;
    if (key.empty()) {
        root.insert(section, *value->get("value"));
    } else {
        root.insert(section, std::move(inner));
    }
    reader.read(root);
}

template <class Fields>
std::optional<std::string> find_value(Fields const& fields, std::string_view key) {
    for (Field const& field : fields) {
        if (field.row->key == key) return toml_value(field.value, *field.row);
    }
    return std::nullopt;
}

}  // namespace

std::string to_text(ConfigProblem const& problem) {
    Origin const& where = problem.where;
    if (where.layer == Layer::command_line) return "--set: " + problem.message;
    std::string place = where.file;
    if (where.line > 0) place += fmt::format(":{}", where.line);
    if (problem.column > 0) place += fmt::format(":{}", problem.column);
    return place.empty() ? problem.message : place + ": " + problem.message;
}

ResolvedConfig resolve_config(std::vector<ConfigText> const& layers,
                              std::vector<std::string> const& sets) {
    ResolvedConfig resolved;
    StageTables stages;
    for (ConfigText const& layer : layers) {
        if (layer.layer == Layer::run) resolved.run_file = layer.file;
        read_text(layer, resolved, stages);
    }
    for (std::string const& set : sets) apply_set(set, resolved);
    if (resolved.whole)
        check_keys(resolved);  // otherwise most keys are missing for the same
                               // reason
    read_stages(stages, resolved);
    std::ranges::stable_sort(resolved.problems, {}, [](ConfigProblem const& each) {
        return std::tuple(each.where.layer, each.where.line);
    });
    return resolved;
}

std::string value_text(RunConfig const& config, std::string_view key) {
    auto const dot = key.find('.');
    if (dot == std::string_view::npos) return "";
    std::string_view const section = key.substr(0, dot);
    std::string_view const name = key.substr(dot + 1);
    RunConfig copy = config;
    auto const entry = [](StringMap const& map, std::string_view of) {
        auto const found = map.find(std::string(of));
        return found == map.end() ? std::string() : toml_string(found->second);
    };
    if (section == "nccl") return entry(copy.nccl, name);
    if (auto const table = string_table(section, name); !table.empty()) {
        return entry(table == "env" ? copy.worker.env : copy.data.columns,
                     name.substr(table.size() + 1));
    }
    if (auto const index = bucket_index(section)) {
        if (*index >= copy.bucket.size()) return "";
        return find_value(fields_of(copy.bucket[*index]), name).value_or("");
    }
    auto fields = fields_of(copy);
    std::erase_if(fields, [&](Field const& each) { return each.row->section != section; });
    return find_value(fields, name).value_or("");
}

ConfigProblem problem_of(ResolvedConfig const& resolved, std::string const& key,
                         std::string_view message) {
    ConfigProblem problem;
    auto origin = resolved.origins.find(key);
    if (origin == resolved.origins.end()) {  // "bucket[1].num_frames" -> "bucket[1]"
        origin = resolved.origins.find(key.substr(0, key.find('.')));
    }
    if (origin != resolved.origins.end()) {
        problem.where = origin->second;
    } else {
        problem.where = {Layer::run, resolved.run_file, 0};
    }
    std::string const value = value_text(resolved.config, key);
    problem.message = value.empty() ? fmt::format("{}: {}", key, message)
                                    : fmt::format("{} = {}: {}", key, value, message);
    return problem;
}

void complain(ResolvedConfig& resolved, std::string const& key, std::string_view message) {
    resolved.problems.push_back(problem_of(resolved, key, message));
}

}  // namespace osora::plan
