// Look-ups in the rows, which are merged into one list once.
#include "topology/nccl/nccl_catalogue.hpp"

#include "base/text/nearest.hpp"
#include "topology/nccl/nccl_catalogue_rows.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace osora::topology {
namespace {

std::vector<NcclVariable> all_rows() {
    std::vector<NcclVariable> all;
    for (auto const rows : {rows::network_rows(), rows::engine_rows(), rows::other_rows()}) {
        all.insert(all.end(), rows.begin(), rows.end());
    }
    std::ranges::sort(all, {}, &NcclVariable::name);
    return all;
}

/// Parses a whole number in [0, limit] at the start of `text` and removes it.
std::optional<int> take_number(std::string_view& text, int limit) {
    int value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > limit) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

}  // namespace

char letter_of(SettingClass cls) {
    switch (cls) {
        case SettingClass::job:
            return 'J';
        case SettingClass::probe:
            return 'P';
        case SettingClass::site:
            return 'S';
        case SettingClass::bisect:
            break;
    }
    return 'B';
}

std::span<NcclVariable const> nccl_catalogue() {
    static std::vector<NcclVariable> const kAll = all_rows();
    return kAll;
}

NcclVariable const* find_variable(std::string_view name) {
    auto const all = nccl_catalogue();
    auto const found = std::ranges::lower_bound(all, name, {}, &NcclVariable::name);
    return found != all.end() && found->name == name ? &*found : nullptr;
}

std::optional<std::string_view> nearest_variable(std::string_view name) {
    std::vector<std::string_view> names;
    for (auto const& each : nccl_catalogue()) names.push_back(each.name);
    return nearest_name(name, names);
}

std::string_view default_of(NcclVariable const& variable, int version) {
    if (version > 0) {
        for (OlderDefault const& each : variable.details.older) {
            if (version < each.before) return each.value;
        }
    }
    return variable.default_value;
}

std::optional<int> nccl_version_code(std::string_view text) {
    constexpr int kMajorMax = 9, kPartMax = 99, kCodeMax = 99999;
    auto const first = take_number(text, kCodeMax);
    if (!first) return std::nullopt;
    if (*first >= 20000 && text.empty()) return first;
    if (*first < 2 || *first > kMajorMax || !text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
    auto const second = take_number(text, kPartMax);
    if (!second) return std::nullopt;
    int patch = 0;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        auto const third = take_number(text, kPartMax);
        if (!third) return std::nullopt;
        patch = *third;
    }
    if (!text.empty() && text.front() != '-' && text.front() != '+') return std::nullopt;
    return *first * 10000 + *second * 100 + patch;
}

}  // namespace osora::topology
