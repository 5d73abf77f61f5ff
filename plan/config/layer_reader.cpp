// Walks the tables of a layer; what is unknown becomes a problem with the nearest valid name.
#include "plan/config/layer_reader.hpp"

#include "base/text/nearest.hpp"
#include "plan/config/read_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace osora::plan {
namespace {

std::vector<std::string_view> keys_of(std::string_view section) {
    std::vector<std::string_view> keys;
    for (SchemaRow const& row : schema_rows()) {
        if (row.section == section) keys.push_back(row.key);
    }
    return keys;
}

std::vector<std::string_view> section_names() {
    std::vector<std::string_view> names;
    for (SectionRow const& row : schema_sections()) names.push_back(row.name);
    names.push_back("stage");
    return names;
}

/// "optim.lr" for "lr"; empty when no section or several have the key.
std::string section_with(std::string_view key) {
    auto const has_key = [&](SchemaRow const& row) { return row.key == key; };
    if (std::ranges::count_if(schema_rows(), has_key) != 1) return "";
    auto const row = std::ranges::find_if(schema_rows(), has_key);
    return fmt::format("{}.{}", row->section, row->key);
}

/// Set by osora for every rank; a user's value would break the launch.
constexpr std::array<std::string_view, 9> kReserved{
    "RANK",        "LOCAL_RANK",    "WORLD_SIZE",     "LOCAL_WORLD_SIZE", "MASTER_ADDR",
    "MASTER_PORT", "OSORA_ATTEMPT", "OSORA_AGENT_FD", "OSORA_STORE_FD"};

std::string bad_variable(std::string_view name, bool nccl) {
    if (name.empty() || name.find('=') != std::string_view::npos || !is_c_string(name)) {
        return "not the name of an environment variable";
    }
    if (nccl && !name.starts_with("NCCL_")) {
        return fmt::format("names in [nccl] begin with NCCL_; did you mean NCCL_{}?", name);
    }
    if (std::ranges::count(kReserved, name) != 0) return "is set by osora for every rank";
    return "";
}

}  // namespace

LayerReader::LayerReader(ResolvedConfig& into, Origin origin, std::string prefix)
    : into_(into), origin_(std::move(origin)), prefix_(std::move(prefix)) {}

Origin LayerReader::at(toml::source_region const& region) const {
    Origin place = origin_;
    if (place.layer != Layer::command_line) place.line = static_cast<int>(region.begin.line);
    return place;
}

void LayerReader::complain(toml::source_region const& region, std::string message) {
    into_.problems.push_back({at(region), 0, std::move(message)});
}

void LayerReader::written(std::string const& path, toml::source_region const& region) {
    into_.origins[path] = at(region);
    into_.unread.erase(path);
}

void LayerReader::read_bucket(std::size_t index, toml::table const& keys) {
    std::string const path = fmt::format("bucket[{}]", index);
    auto& buckets = into_.config.bucket;
    if (index >= buckets.size()) {
        return complain(keys.source(), fmt::format("{}: there are {} buckets, counted from 0", path,
                                                   buckets.size()));
    }
    read_section(path, "bucket", keys, fields_of(buckets[index]));
}

void LayerReader::read(toml::table const& root) {
    auto const fields = fields_of(into_.config);
    bool const in_stage = !prefix_.empty();
    for (auto const& [key, node] : root) {
        std::string const name(key.str());
        if (name == "bucket") {
            read_buckets(node);
        } else if (name == "stage" && !in_stage) {
            check_stages(node);
        } else if (name == "nccl") {
            read_variables(name, node, into_.config.nccl);
        } else if (find_section(name) == nullptr) {
            if (!in_stage || name != "at_step") unknown_section(name, key, node);
        } else if (auto const* table = node.as_table()) {
            read_section(name, name, *table, fields);
        } else {
            complain(key.source(), fmt::format("{}{} = {}: expected a section [{}], found {}",
                                               prefix_, name, shown(node), name, kind_of(node)));
        }
    }
}

void LayerReader::read_section(std::string const& path, std::string_view section,
                               toml::table const& table, std::vector<Field> const& fields) {
    for (auto const& [key, node] : table) {
        auto const* row = find_row(section, key.str());
        if (row == nullptr) {
            unknown_key(path, section, key);
            continue;
        }
        std::string const key_path = fmt::format("{}.{}", path, key.str());
        auto const field = std::ranges::find(fields, row, &Field::row);
        if (auto* const* map = std::get_if<StringMap*>(&field->value)) {
            read_variables(key_path, node, **map);
        } else if (auto const complaint = read_value(node, *row, field->value)) {
            complain(key.source(),
                     fmt::format("{}{} = {}: {}", prefix_, key_path, shown(node), *complaint));
            into_.unread.insert(key_path);
        } else {
            written(key_path, key.source());
        }
    }
}

void LayerReader::read_buckets(toml::node const& node) {
    auto const* array = node.as_array();
    if (array == nullptr || !std::ranges::all_of(*array, &toml::node::is_table)) {
        complain(node.source(),
                 fmt::format("{}bucket: expected a list of tables ([[bucket]] before "
                             "each), found {}",
                             prefix_, kind_of(node)));
        into_.unread.insert("bucket");
        return;
    }
    // A layer's buckets replace those of the layers below.
    std::erase_if(into_.origins, [](auto const& each) { return each.first.starts_with("bucket"); });
    auto& buckets = into_.config.bucket;
    buckets.assign(array->size(), {});
    for (std::size_t i = 0; i < array->size(); ++i) {
        auto const& table = *(*array)[i].as_table();
        std::string const path = fmt::format("bucket[{}]", i);
        written(path, table.source());
        read_section(path, "bucket", table, fields_of(buckets[i]));
        if (!table.contains("resolution")) {
            complain(table.source(), prefix_ + path + ": resolution is missing");
        }
    }
}

/// stages.cpp reads these tables after all layers.
void LayerReader::check_stages(toml::node const& node) {
    auto const* array = node.as_array();
    if (array != nullptr && std::ranges::all_of(*array, &toml::node::is_table)) return;
    complain(node.source(), fmt::format("stage: expected a list of tables ([[stage]] before "
                                        "each), found {}",
                                        kind_of(node)));
}

void LayerReader::read_variables(std::string const& path, toml::node const& node, StringMap& into) {
    auto const* table = node.as_table();
    if (table == nullptr) {
        complain(node.source(), fmt::format("{}{} = {}: expected a table of strings, found {}",
                                            prefix_, path, shown(node), kind_of(node)));
        return;
    }
    constexpr SchemaRow kVariable{.section = "", .key = "", .doc = ""};
    for (auto const& [key, each] : *table) {
        std::string const key_path = fmt::format("{}.{}", path, toml_key(key.str()));
        std::string value;
        if (auto const bad = bad_variable(key.str(), path.ends_with("nccl")); !bad.empty()) {
            complain(key.source(), prefix_ + key_path + ": " + bad);
        } else if (auto const complaint = read_value(each, kVariable, &value)) {
            complain(key.source(),
                     fmt::format("{}{} = {}: {}", prefix_, key_path, shown(each), *complaint));
        } else {
            into[std::string(key.str())] = std::move(value);
            written(key_path, key.source());
        }
    }
}

void LayerReader::unknown_section(std::string const& name, toml::key const& key,
                                  toml::node const& node) {
    std::string message = node.is_table() ? fmt::format("unknown section [{}{}]", prefix_, name)
                                          : fmt::format("unknown key {}{} outside of a section",
                                                        prefix_, toml_key(name));
    auto const names = section_names();
    if (auto const home = section_with(name); !home.empty() && !node.is_table()) {
        message += fmt::format("; did you mean {}?", home);
    } else if (auto const near = nearest_name(name, names)) {
        message += fmt::format("; did you mean [{}]?", *near);
    } else {
        message += fmt::format("; sections are {}", fmt::join(names, ", "));
    }
    complain(key.source(), std::move(message));
}

void LayerReader::unknown_key(std::string const& path, std::string_view section,
                              toml::key const& key) {
    std::string message = fmt::format("unknown key {}{}.{}", prefix_, path, toml_key(key.str()));
    auto const keys = keys_of(section);
    if (auto const home = section_with(key.str()); !home.empty()) {
        message += fmt::format("; did you mean {}?", home);
    } else if (auto const near = nearest_name(key.str(), keys)) {
        message += fmt::format("; did you mean {}?", *near);
    } else {
        message += fmt::format("; keys of [{}] are {}", section, fmt::join(keys, ", "));
    }
    complain(key.source(), std::move(message));
}

}  // namespace osora::plan
