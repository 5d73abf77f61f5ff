// Merges the two places that NCCL settings come from.
#include "plan/nccl_env.hpp"

#include <fmt/format.h>

namespace osora::plan {

std::string origin_text(Origin const& origin) {
    auto const place = [&](char const* layer) {
        return origin.line > 0       ? fmt::format("{}: {}:{}", layer, origin.file, origin.line)
               : origin.file.empty() ? std::string(layer)
                                     : fmt::format("{}: {}", layer, origin.file);
    };
    switch (origin.layer) {
        case Layer::site:
            return place("site file");
        case Layer::user:
            return place("user file");
        case Layer::run:
            return place("run file");
        case Layer::command_line:
            return "--set";
        case Layer::default_value:
            break;
    }
    return "default";
}

std::vector<NcclSetting> nccl_settings(std::map<std::string, std::string> const& run_file,
                                       Origins const& origins,
                                       std::map<std::string, std::string> const& environment,
                                       bool gpu) {
    std::string const unused = gpu ? "" : "; CPU ranks use Gloo and do not read it";
    std::map<std::string, NcclSetting> settings;
    for (auto const& [name, value] : environment) {
        if (!name.starts_with("NCCL_")) continue;
        settings[name] = {name, value, "environment", "set where osora was started" + unused};
    }
    for (auto const& [name, value] : run_file) {
        auto const origin = origins.find("nccl." + name);
        auto const replaced = settings.find(name);
        std::string reason = "yours";
        if (replaced != settings.end() && replaced->second.value != value) {
            reason = fmt::format("yours; replaces {} of the environment", replaced->second.value);
        }
        settings[name] = {name, value,
                          origin == origins.end() ? "run file" : origin_text(origin->second),
                          reason + unused};
    }
    std::vector<NcclSetting> list;
    for (auto& [name, setting] : settings) list.push_back(std::move(setting));
    return list;
}

}  // namespace osora::plan
