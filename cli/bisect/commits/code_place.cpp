#include "cli/bisect/commits/code_place.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

/// `path` relative to one of the roots; "." for a root itself. git names its root without symbolic
/// links, users may not; a file of the repository that is itself a link is not resolved.
std::optional<fs::path> inside(fs::path const& path, CodePlace const& place) {
    auto const normal = path.lexically_normal();
    auto const as_named = place.real(normal.parent_path()) / normal.filename();
    for (auto const& spelling : {normal, as_named, place.real(normal)}) {
        for (auto const& root : place.roots) {
            auto const relative = spelling.lexically_normal().lexically_relative(root);
            bool const is_below = !relative.empty() && *relative.begin() != "..";
            if (is_below) return relative;
        }
    }
    return std::nullopt;
}

/// "/repo/train.py" -> "/tree/train.py" if that is code.
std::string moved_absolute(std::string const& text, CodePlace const& place) {
    auto const relative = inside(text, place);
    if (!relative || !place.is_code(*relative)) return text;
    return (place.tree / *relative).lexically_normal().string();
}

std::string moved_path(std::string const& text, CodePlace const& place) {
    if (text.starts_with('/')) return moved_absolute(text, place);
    if (text.find('/') == std::string::npos) return text;  // may be a word that is not a path
    auto const original = place.base_dir / text;
    auto const relative = inside(original, place);
    bool const stays = relative && !place.is_code(*relative) && place.exists(original);
    return stays ? original.lexically_normal().string() : text;
}

}  // namespace

fs::path moved_folder(CodePlace const& place) {
    auto const relative = inside(place.base_dir, place);
    return relative ? (place.tree / *relative).lexically_normal() : place.base_dir;
}

std::string moved_argument(std::string const& word, CodePlace const& place) {
    auto const equals = word.find('=');
    bool const is_option = word.starts_with('-') && equals != std::string::npos;
    if (!is_option) return moved_path(word, place);
    return word.substr(0, equals + 1) + moved_path(word.substr(equals + 1), place);
}

std::string moved_path_list(std::string const& list, CodePlace const& place) {
    std::string moved;
    for (std::size_t begin = 0; begin <= list.size();) {
        auto const end = std::min(list.find(':', begin), list.size());
        auto const part = list.substr(begin, end - begin);
        moved += part.starts_with('/') ? moved_absolute(part, place) : part;
        if (end < list.size()) moved += ':';
        begin = end + 1;
    }
    return moved;
}

Moved move_to_tree(CodePlace const& place, plan::RunConfig& config, Environment& environment) {
    Moved moved{.is_in_repository = inside(place.base_dir, place).has_value(), .left = {}};
    for (auto& word : config.worker.command) {
        auto now = moved_argument(word, place);
        bool const is_in_tree = now.find(place.tree.string()) != std::string::npos;
        moved.is_in_repository = moved.is_in_repository || is_in_tree;
        auto const path = now.substr(now.find('/') == std::string::npos ? 0 : now.find('/'));
        bool const is_left =
            path.starts_with('/') && !is_in_tree && inside(path, place) && place.exists(path);
        if (is_left) moved.left.push_back(path);
        word = std::move(now);
    }
    for (auto& [name, value] : config.worker.env) value = moved_path_list(value, place);
    constexpr std::string_view kPythonPath = "PYTHONPATH";
    if (!has_variable(environment, kPythonPath)) return moved;
    auto const list = variable_or(environment, kPythonPath, "");
    set_variable(environment, kPythonPath, moved_path_list(list, place));
    return moved;
}

}  // namespace osora::cli
