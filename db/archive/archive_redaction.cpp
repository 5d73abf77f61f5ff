#include "db/archive/archive_redaction.hpp"

#include "base/files/files.hpp"
#include "base/text/text.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/json.hpp"
#include "protocol/run_directory.hpp"
#include "protocol/secret_key.hpp"

#include <boost/algorithm/string/replace.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace osora::db {
namespace {

constexpr std::int64_t kJobBytesMax = 16 << 20;

using SecretVisitor = std::function<void(std::string_view name, std::string_view value)>;

/// Objects with this name hold variables by name.
bool holds_variables(std::string_view member) {
    return member == "env" || member == "facts";
}

void visit_variables(protocol::json::value const& value, SecretVisitor const& visit) {
    if (auto const* array = value.if_array(); array != nullptr) {
        for (auto const& each : *array) visit_variables(each, visit);
    }
    auto const* object = value.if_object();
    if (object == nullptr) return;
    for (auto const& [name, member] : *object) {
        auto const* variables = holds_variables(name) ? member.if_object() : nullptr;
        if (variables == nullptr) {
            visit_variables(member, visit);
            continue;
        }
        for (auto const& [variable, text] : *variables) {
            if (text.is_string()) visit(variable, text.get_string());
        }
    }
}

/// The last part of a TOML key that ends `text`: "env.API_KEY " and "{ \"API_KEY\" " give API_KEY.
std::string_view name_before(std::string_view text) {
    text = trimmed(text);
    bool const quoted = text.ends_with('"') || text.ends_with('\'');
    char const quote = quoted ? text.back() : ' ';
    if (quoted) text.remove_suffix(1);
    auto const begin = quoted ? text.rfind(quote) : text.find_last_of(" \t,{.#");
    return begin == text.npos ? text : text.substr(begin + 1);
}

/// The TOML string that begins after blanks at `at`, and the offset after it; 0: there is none.
std::pair<std::string, std::size_t> quoted_behind(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return {"", 0};
    char const quote = text[at];
    bool const is_long = text.substr(at).starts_with(std::string(3, quote));
    std::size_t const width = is_long ? 3 : 1;
    std::size_t end = at + width;
    auto const closes = [&] {
        auto const here = text.substr(end, width);
        return here == std::string(width, quote) || (!is_long && here == "\n");
    };
    while (end < text.size() && !closes()) end += quote == '"' && text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    std::string const raw(text.substr(at + width, end - at - width));
    std::size_t const behind = std::min(end + width, text.size());
    // Escapes of basic strings are those of JSON, except for two rare ones.
    auto const plain = quote == '"' ? protocol::parse_json('"' + raw + '"')
                                    : Result<protocol::json::value>(invalid("literal"));
    bool const decoded = plain.has_value() && plain->is_string();
    return {decoded ? std::string(plain->get_string()) : raw, behind};
}

/// Whether something was changed.
class Walk {
public:
    Walk(std::string const& key, Redactor const& redactor) : key_(key), redactor_(redactor) {}

    bool change(protocol::json::value& value, bool variables = false) {
        bool changed = false;
        if (auto* array = value.if_array(); array != nullptr) {
            for (auto& each : *array) changed = change(each) || changed;
        } else if (auto* object = value.if_object(); object != nullptr) {
            for (auto& [name, member] : *object) {
                bool const is_variable = variables && member.is_string();
                bool const now = is_variable ? replace(member, shown(name, member))
                                             : change(member, holds_variables(name));
                changed = now || changed;
            }
        } else if (value.is_string()) {
            changed = replace(value, redactor_.redact(std::string(value.get_string())));
        }
        return changed;
    }

private:
    [[nodiscard]] std::string shown(std::string_view name,
                                    protocol::json::value const& value) const {
        std::string const text(value.get_string());
        bool const is_variable = name.find('.') == std::string_view::npos;  // not a fact of osora's
        return is_variable ? redactor_.redact(shown_value(key_, name, text))
                           : redactor_.redact(text);
    }
    static bool replace(protocol::json::value& value, std::string const& text) {
        if (std::string_view(value.get_string()) == text) return false;
        value = text;
        return true;
    }

    std::string const& key_;
    Redactor const& redactor_;
};

}  // namespace

void ArchiveRedaction::learn(std::string_view name, std::string_view value) {
    if (!is_secret(name, value) || is_secret_digest(value)) return;
    secrets_.emplace(value, secret_digest(key_, value));
    redactor_.add(value);
    // The value quoted as in JSON and TOML.
    auto const quoted = protocol::json::serialize(protocol::json::value(value));
    redactor_.add(std::string_view(quoted).substr(1, quoted.size() - 2));
}

void ArchiveRedaction::learn_from_run_file(std::string_view text) {
    bool in_worker = false;
    for (std::size_t at = 0; at < text.size();) {
        auto const line = text.substr(at, text.find('\n', at) - at);
        if (trimmed(line).starts_with('[')) in_worker = line.find("worker") != line.npos;
        std::size_t used = line.size() + 1;
        for (auto sign = line.find('='); sign != line.npos; sign = line.find('=', sign + 1)) {
            auto const name = name_before(line.substr(0, sign));
            bool const here = in_worker || line.find("worker") < sign;
            auto const [value, end] = quoted_behind(text, at + sign + 1);
            if (here && end > 0) learn(name, value);
            // A value in triple quotes may span lines.
            if (end > at + used) used = end - at;
            if (end > at + sign) sign = std::min(end - at - 1, line.size());
        }
        at += used;
    }
}

ArchiveRedaction::ArchiveRedaction(std::filesystem::path const& run_dir)
    : key_(protocol::known_secret_key(protocol::RunPaths{run_dir}.state().dir)) {
    protocol::RunPaths const paths{run_dir};
    auto const take = [this](std::string_view name, std::string_view value) { learn(name, value); };
    if (auto const text = read_file(paths.job(), kJobBytesMax); text.has_value()) {
        auto const job = protocol::parse_json(*text);
        if (job.has_value()) visit_variables(*job, take);
    }
    if (auto const text = read_file(paths.run_file(), kJobBytesMax); text.has_value()) {
        learn_from_run_file(*text);
    }
    if (auto const text = read_file(paths.environment(), kJobBytesMax); text.has_value()) {
        auto const environment = protocol::decode_environment(*text);
        if (environment.has_value()) redactor_.add(*environment);
    }
}

std::string ArchiveRedaction::json(std::string const& text) const {
    auto value = protocol::parse_json(text);
    if (value.has_error()) return redactor_.redact(text);
    return Walk(key_, redactor_).change(*value) ? protocol::json::serialize(*value) : text;
}

std::string ArchiveRedaction::run_file(std::string text) const {
    for (auto const& [value, digest] : secrets_) {  // short values too, if they are a whole string
        boost::replace_all(text, '"' + value + '"', '"' + digest + '"');
        boost::replace_all(text, '\'' + value + '\'', '\'' + digest + '\'');
    }
    return redactor_.redact(text);
}

std::string ArchiveRedaction::file(std::string_view name, std::string const& content) const {
    return name.ends_with(".json") ? json(content) : run_file(content);
}

}  // namespace osora::db
