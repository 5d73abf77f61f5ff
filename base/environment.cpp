// Plain searches: environments have tens of entries.
#include "base/environment.hpp"

#include <unistd.h>

#include <algorithm>

namespace osora {
namespace {

bool is_named(std::string_view variable, std::string_view name) {
    return variable.size() > name.size() && variable.starts_with(name) &&
           variable[name.size()] == '=';
}

}  // namespace

Environment current_environment() {
    Environment result;
    for (char** each = environ; *each != nullptr; ++each) result.emplace_back(*each);
    return result;
}

void remove_variable(Environment& environment, std::string_view name) {
    std::erase_if(environment, [name](std::string const& each) { return is_named(each, name); });
}

void set_variable(Environment& environment, std::string_view name, std::string_view value) {
    remove_variable(environment, name);
    environment.push_back(std::string(name) + "=" + std::string(value));
}

bool has_variable(Environment const& environment, std::string_view name) {
    return std::ranges::any_of(environment,
                               [name](std::string const& each) { return is_named(each, name); });
}

std::string variable_or(Environment const& environment, std::string_view name,
                        std::string_view otherwise) {
    for (std::string const& each : environment) {
        if (is_named(each, name)) return each.substr(name.size() + 1);
    }
    return std::string(otherwise);
}

}  // namespace osora
