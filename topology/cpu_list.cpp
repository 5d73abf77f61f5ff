#include "topology/cpu_list.hpp"

#include "base/text/text.hpp"

#include <algorithm>

namespace osora::topology {
namespace {

constexpr int kCpusMax = 1 << 16;

std::optional<int> cpu_number(std::string_view text) {
    auto const value = whole_number<int>(text);
    return value && *value >= 0 && *value < kCpusMax ? value : std::nullopt;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view list) {
    std::vector<int> cpus;
    for (list = trimmed(list); !list.empty();) {
        std::size_t const comma = std::min(list.find(','), list.size());
        std::string_view const range = list.substr(0, comma);
        std::size_t const dash = range.find('-');
        auto const first = cpu_number(range.substr(0, dash));
        auto const last =
            dash == std::string_view::npos ? first : cpu_number(range.substr(dash + 1));
        if (!first || !last || *last < *first || cpus.size() > kCpusMax) return {};
        for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
        if (comma + 1 == list.size()) return {};
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    std::ranges::sort(cpus);
    cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
    return cpus;
}

std::string format_cpu_list(std::vector<int> cpus) {
    std::ranges::sort(cpus);
    cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
    std::string text;
    for (std::size_t i = 0; i < cpus.size();) {
        std::size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(cpus[i]);
        if (last > i) text += '-' + std::to_string(cpus[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace osora::topology
