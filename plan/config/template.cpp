// Layout of the text: section comment, header, then "key = value  # description (range)".
#include "plan/config/template.hpp"

#include "plan/config/fields.hpp"

#include <fmt/format.h>
#include <boost/algorithm/string/replace.hpp>

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kCommentColumn = 34;
constexpr double kShownMax = 8192;

std::string range_note(SchemaRow const& row, bool is_auto) {
    std::string note;
    if (!row.choices.empty()) note = boost::replace_all_copy(std::string(row.choices), "|", " | ");
    bool const low = std::isfinite(row.min);
    bool const high = row.max <= kShownMax && !row.above_min;  // larger ones are only a guard
    if (row.choices.empty() || row.or_integer) {
        std::string number;
        if (low && high) number = fmt::format("{} .. {}", row.min, row.max);
        if (low && !high) number = fmt::format("{} {}", row.above_min ? ">" : ">=", row.min);
        if (!note.empty() && !number.empty()) note += " | ";
        note += number;
    }
    if (is_auto && row.auto_word == "auto") note += note.empty() ? "auto" : " | auto";
    if (!row.unit.empty())
        note = note.empty() ? std::string(row.unit) : note + ", in " + std::string(row.unit);
    return note.empty() ? "" : " (" + note + ")";
}

bool takes_auto(FieldRef const& value) {
    return std::visit(
        [](auto const* each) {
            return requires {
                each->is_auto();
            };
        },
        value);
}

/// "key = value  # comment", or the comment above when the line would be too long.
std::string key_lines(Field const& field, bool live) {
    SchemaRow const& row = *field.row;
    std::string value = toml_value(field.value, row);
    bool const bare = value == "\"\"" || value == "[]" || value == "{}";
    if (!live && bare && !row.example.empty()) value = row.example;
    std::string line = fmt::format("{}{} = {}", live ? "" : "# ", row.key, value);
    std::string const note = range_note(row, takes_auto(field.value));
    std::string const comment = fmt::format("# {}{}", row.doc, note);
    std::string const padded = fmt::format("{:<{}}{}", line, kCommentColumn, comment);
    if (line.size() + 2 <= kCommentColumn && padded.size() <= kWidth) return padded + "\n";
    if (comment.size() > kWidth) return fmt::format("# {}\n#{}\n{}\n", row.doc, note, line);
    return comment + "\n" + line + "\n";
}

std::string section_text(std::string const& header, std::vector<Field> const& fields,
                         std::vector<Field> const& defaults, bool live_section) {
    std::string text;
    bool any_live = live_section;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        bool const changed = !same_value(fields[i].value, defaults[i].value);
        bool const live = changed || (live_section && fields[i].row->in_template);
        any_live = any_live || live;
        text += key_lines(fields[i], live);
    }
    return (any_live ? header : "# " + header) + "\n" + text;
}

std::string bucket_text(RunConfig const& config) {
    BucketSection defaults;
    std::string text;
    for (BucketSection each : config.bucket) {
        text += section_text("[[bucket]]", fields_of(each), fields_of(defaults), true) + "\n";
    }
    return text;
}

std::string nccl_text(RunConfig const& config) {
    if (config.nccl.empty()) return "# [nccl]\n# NCCL_IB_TC = \"106\"\n\n";
    std::string text = "[nccl]\n";
    for (auto const& [name, value] : config.nccl) {
        text += fmt::format("{} = {}\n", toml_key(name), toml_string(value));
    }
    return text + "\n";
}

}  // namespace

std::string run_file_text(RunConfig const& config, std::string_view title, LiveKeys live) {
    RunConfig copy = config;
    RunConfig defaults;
    std::string text = fmt::format("{}\n\n", title);
    for (SectionRow const& section : schema_sections()) {
        text += fmt::format("# {}\n", section.doc);
        if (section.name == "bucket") {
            text += bucket_text(config);
            continue;
        }
        if (section.name == "nccl") {
            text += nccl_text(config);
            continue;
        }
        auto const elsewhere = [&](Field const& each) { return each.row->section != section.name; };
        auto fields = fields_of(copy);
        auto before = fields_of(defaults);
        std::erase_if(fields, elsewhere);
        std::erase_if(before, elsewhere);
        bool const first = section.in_template && live == LiveKeys::changed_and_first;
        text += section_text(fmt::format("[{}]", section.name), fields, before, first);
        text += "\n";
    }
    text.pop_back();
    return text;
}

RunConfig starting_config() {
    RunConfig config;
    config.run.name = "first";
    config.data.manifest = "clips.csv";
    config.bucket.push_back({"64", 1, 1.0, {}});
    config.bucket.push_back({"64", 8, 1.0, {}});
    config.optim.precision = "fp32";
    config.optim.warmup_steps = 20;
    config.train.steps = 200;
    config.checkpoint.every = 50;
    return config;
}

}  // namespace osora::plan
