#include "topology/probe/leaf_address.hpp"

#include <vector>

namespace osora::topology {
namespace {

std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        auto const dot = text.find('.');
        parts.push_back(text.substr(0, dot));
        if (dot == std::string_view::npos) break;
        text.remove_prefix(dot + 1);
    }
    return parts;
}

}  // namespace

std::string leaf_of_address(std::string_view address, std::string_view pattern) {
    auto const parts = parts_of(address);
    auto const kinds = parts_of(pattern);
    // A host name with dots gives more parts than the pattern has: all of those are the node.
    std::size_t const known = kinds.empty() ? parts.size() : kinds.size();
    if (parts.size() < 2 || known < 2 || parts.size() < known) return "";
    return std::string(parts[known - 2]);
}

}  // namespace osora::topology
