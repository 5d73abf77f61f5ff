#include "slurm/exclusion.hpp"

#include "base/host_list.hpp"
#include "base/host_name.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::slurm {
namespace {

/// The names that `text` stands for; itself when it is no list of hosts.
std::vector<std::string> names_in(std::string const& text) {
    auto names = expand_host_list(text);
    return names.has_value() ? std::move(*names) : std::vector<std::string>{text};
}

}  // namespace

std::vector<std::string> sinfo_arguments(std::string_view cluster) {
    std::vector<std::string> arguments{"--noheader", "--all", "--format=%N"};
    if (!cluster.empty()) arguments.push_back(fmt::format("--clusters={}", cluster));
    return arguments;
}

Result<std::vector<std::string>> parse_nodes(std::string_view output) {
    std::vector<std::string> nodes;
    for (std::string_view const each : split(output, '\n')) {
        auto const line = trimmed(each);
        // "CLUSTER: north", a warning
        if (line.empty() || line.find(' ') != line.npos) continue;
        OSORA_TRY(auto const names, expand_host_list(line));
        nodes.insert(nodes.end(), names.begin(), names.end());
    }
    if (nodes.empty()) return Error{Errc::invalid_input, "sinfo lists no node"};
    return nodes;
}

Exclusion exclusion_of(std::vector<std::string> const& wanted,
                       std::vector<std::string> const& known) {
    Exclusion result;
    for (std::string const& text : wanted) {
        for (std::string const& name : names_in(text)) {
            std::string const plain = lower(name);
            bool is_known = false;
            for (std::string const& node : known) {
                if (!is_same_host(plain, lower(node))) continue;
                is_known = true;
                bool const is_new = std::ranges::find(result.nodes, node) == result.nodes.end();
                if (is_new) result.nodes.push_back(node);
            }
            if (!is_known) result.unknown.push_back(name);
        }
    }
    return result;
}

}  // namespace osora::slurm
