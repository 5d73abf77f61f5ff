// Model configurations from and to JSON with Open-Sora's keys, by the described members of their
// struct. Private to worker/model.
#pragma once

#include "base/result.hpp"
#include "base/text/nearest.hpp"

#include <fmt/format.h>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

template <class T>
[[nodiscard]] bool read_json(boost::json::value const& value, T& out) {
    auto const got = boost::json::try_value_to<T>(value);
    if (got) out = *got;
    return got.has_value();
}

/// `config` overridden by the members in `text`. Unknown keys are errors that name the nearest;
/// those of `unread` are also Open-Sora's but have no effect here.
template <class Config>
[[nodiscard]] Result<Config> read_config(std::string_view text, Config config,
                                         std::span<std::string_view const> unread) {
    using Members = boost::describe::describe_members<Config, boost::describe::mod_public |
                                                                  boost::describe::mod_inherited>;
    auto const invalid = [](std::string message) {
        return Error{Errc::invalid_input, "config: " + std::move(message)};
    };
    boost::system::error_code failed;
    auto const value = boost::json::parse(text, failed);
    if (failed) return invalid(failed.message());
    auto const* object = value.if_object();
    if (object == nullptr) return invalid("not a JSON object");
    for (auto const& [key, field] : *object) {
        std::string_view const name = key;
        bool known = std::ranges::find(unread, name) != unread.end();
        bool good = true;
        std::vector<std::string_view> names;
        boost::mp11::mp_for_each<Members>([&, &field = field](auto member) {
            names.emplace_back(member.name);
            if (name != member.name) return;
            known = true;
            good = read_json(field, config.*member.pointer);
        });
        if (!good) return invalid(fmt::format("{}: wrong type or out of range", name));
        if (known) continue;
        auto const nearest = nearest_name(name, names);
        return invalid(fmt::format("unknown key '{}'{}", name,
                                   nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
    }
    return config;
}

template <class Config>
[[nodiscard]] std::string config_json(Config const& config) {
    using Members = boost::describe::describe_members<Config, boost::describe::mod_public |
                                                                  boost::describe::mod_inherited>;
    boost::json::object members;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        members[member.name] = boost::json::value_from(config.*member.pointer);
    });
    return boost::json::serialize(members);
}

}  // namespace osora::worker
