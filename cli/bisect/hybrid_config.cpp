// Splits both configs into leaves, which keep their JSON types, and builds one tree from them.
#include "cli/bisect/hybrid_config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::cli {
namespace {

namespace json = protocol::json;
using Leaves = std::map<std::string, json::value>;

void take_apart(std::string const& path, json::value const& value, Leaves& into) {
    if (auto const* object = value.if_object(); object != nullptr && !object->empty()) {
        for (auto const& [key, each] : *object) {
            std::string const name(key);
            take_apart(path.empty() ? name : path + "." + name, each, into);
        }
    } else if (auto const* array = value.if_array(); array != nullptr && !array->empty()) {
        for (std::size_t i = 0; i < array->size(); ++i) {
            take_apart(fmt::format("{}[{}]", path, i), (*array)[i], into);
        }
    } else {
        into[path] = value;
    }
}

struct PathStep {
    std::string key;  // of an object; empty: an element of an array
    std::size_t index = 0;
};

std::vector<PathStep> steps_of(std::string_view path) {
    std::vector<PathStep> steps;
    while (!path.empty()) {
        if (path.front() == '[') {
            auto const end = path.find(']');
            std::size_t index = 0;
            std::from_chars(path.data() + 1, path.data() + end, index);
            steps.push_back({"", index});
            path.remove_prefix(end + 1);
        } else {
            if (path.front() == '.') path.remove_prefix(1);
            auto const end = std::min(path.find_first_of(".["), path.size());
            steps.push_back({std::string(path.substr(0, end)), 0});
            path.remove_prefix(end);
        }
    }
    return steps;
}

Result<void> put(json::value& tree, std::string const& path, json::value value) {
    json::value* place = &tree;
    for (PathStep const& step : steps_of(path)) {
        if (!step.key.empty()) {
            if (!place->is_object()) place->emplace_object();
            place = &place->get_object()[step.key];
            continue;
        }
        if (!place->is_array()) place->emplace_array();
        auto& array = place->get_array();
        // Leaves are sorted by path, so element 0 is built before element 1.
        if (step.index > array.size()) {
            return Error{Errc::invalid_input,
                         fmt::format("{}: the elements before it are not there", path)};
        }
        if (step.index == array.size()) array.emplace_back(nullptr);
        place = &array[step.index];
    }
    *place = std::move(value);
    return {};
}

/// Compares numbers in brackets as numbers: [2] before [10].
struct ByIndex {
    bool operator()(std::string const& left, std::string const& right) const {
        auto const a = steps_of(left), b = steps_of(right);
        for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
            if (a[i].key != b[i].key) return a[i].key < b[i].key;
            if (a[i].index != b[i].index) return a[i].index < b[i].index;
        }
        return a.size() < b.size();
    }
};

bool is_inside(std::string const& path, std::string const& container) {
    return path.size() > container.size() && path.starts_with(container) &&
           (path[container.size()] == '.' || path[container.size()] == '[');
}

}  // namespace

Result<json::value> hybrid_config(json::value const& good, json::value const& bad,
                                  std::set<std::string> const& keys) {
    Leaves from_good, from_bad;
    take_apart("", good, from_good);
    take_apart("", bad, from_bad);
    std::map<std::string, json::value, ByIndex> leaves(from_good.begin(), from_good.end());
    for (std::string const& key : keys) {
        auto const value = from_bad.find(key);
        if (value == from_bad.end()) {
            leaves.erase(key);
            continue;
        }
        leaves[key] = value->second;
        // An empty container ("ssh.hosts": []) is replaced by its new elements, and vice versa.
        std::erase_if(leaves, [&](auto const& leaf) {
            bool const container = leaf.second.is_array() || leaf.second.is_object();
            return container && is_inside(key, leaf.first);
        });
    }
    json::value tree(json::object{});
    for (auto const& [path, value] : leaves) {
        OSORA_TRY_VOID(put(tree, path, value));
    }
    return tree;
}

}  // namespace osora::cli
