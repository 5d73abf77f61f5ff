// Plain searches: environments have tens of entries.
#include "base/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace osora {
namespace {

bool is_named(std::string_view variable, std::string_view name) {
    return variable.size() > name.size() && variable.starts_with(name) &&
           variable[name.size()] == '=';
}

}  // namespace

std::size_t size_bytes(Environment const& environment) {
    std::size_t bytes = 0;
    for (std::string const& each : environment) bytes += each.size() + 1;
    return bytes;
}

Result<void> check_size(Environment const& environment) {
    auto const largest = std::ranges::max_element(environment, {}, &std::string::size);
    std::size_t const bytes = size_bytes(environment);
    if (largest == environment.end()) return {};
    std::string const name = largest->substr(0, std::min<std::size_t>(largest->find('='), 64));
    auto const kib = [](std::size_t count) { return (count + 1023) / 1024; };
    if (largest->size() + 1 > kVariableBytesMax) {
        return Error{Errc::invalid_input,
                     fmt::format("environment: {} is {} KiB long; a program can be given {} KiB "
                                 "in one variable",
                                 name, kib(largest->size()), kib(kVariableBytesMax))};
    }
    if (bytes > kEnvironmentBytesMax) {
        return Error{Errc::invalid_input,
                     fmt::format("environment: {} KiB in {} variables, the largest is {} ({} KiB); "
                                 "osora passes at most {} KiB",
                                 kib(bytes), environment.size(), name, kib(largest->size()),
                                 kib(kEnvironmentBytesMax))};
    }
    return {};
}

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
