// Reads [gpu.NAME] tables.
#include "plan/evaluate/hardware.hpp"

#include "base/check.hpp"
#include "base/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::plan {
namespace {

struct FigureRow {
    std::string_view key;
    double Hardware::*member;
    double min, max;
    bool required;
};
constexpr std::array kFigures{
    FigureRow{"bf16_tflops", &Hardware::bf16_tflops, 1e-3, 1e6, true},
    FigureRow{"fp8_tflops", &Hardware::fp8_tflops, 0, 1e6, false},
    FigureRow{"fp32_tflops", &Hardware::fp32_tflops, 1e-3, 1e6, true},
    FigureRow{"sustained_share", &Hardware::sustained_share, 0.01, 1, false},
    FigureRow{"memory_gbps", &Hardware::memory_gbps, 0.1, 1e6, true},
    FigureRow{"memory_gib", &Hardware::memory_gib, 0.1, 1e6, true},
    FigureRow{"link_gbps", &Hardware::link_gbps, 1e-3, 1e6, true},
    FigureRow{"domain_gpus", &Hardware::domain_gpus, 0, 1e6, false},
    FigureRow{"element_share", &Hardware::element_share, 0.01, 10, false},
    FigureRow{"nic_sharing_share", &Hardware::nic_sharing_share, 0, 10, false},
    FigureRow{"bf16", &Hardware::bf16, 0, 1, false},
    FigureRow{"launch_share", &Hardware::launch_share, 0, 1, false},
};

/// Names that people use.
struct Alias {
    std::string_view name, means;
};
constexpr std::array kAliases{Alias{"v100", "v100-32g-sxm"},
                              Alias{"a100", "a100-80g-sxm"},
                              Alias{"a100-40g", "a100-40g-sxm"},
                              Alias{"a100-80g", "a100-80g-sxm"},
                              Alias{"a800", "a800-80g-sxm"},
                              Alias{"h100", "h100-80g-sxm"},
                              Alias{"h100-80g", "h100-80g-sxm"},
                              Alias{"h800", "h800-80g-sxm"},
                              Alias{"h20-96g-sxm", "h20"},
                              Alias{"h100-96g-sxm", "h100-96g"},
                              Alias{"h200", "h200-141g-sxm"},
                              Alias{"b200", "b200-180g-sxm"},
                              Alias{"b200-192g-sxm", "b200-180g-sxm"},
                              Alias{"b300", "b300-270g-sxm"},
                              Alias{"b300-288g-sxm", "b300-270g-sxm"},
                              Alias{"gb200", "gb200-186g-nvl72"},
                              Alias{"gb200-nvl72", "gb200-186g-nvl72"},
                              Alias{"gb300", "gb300-279g-nvl72"},
                              Alias{"gb300-nvl72", "gb300-279g-nvl72"}};

/// Names of boards in NVIDIA's driver.
constexpr std::array kDriverNames{Alias{"Tesla V100-SXM2-32GB", "v100-32g-sxm"},
                                  Alias{"Tesla V100-SXM3-32GB", "v100-32g-sxm"},
                                  Alias{"NVIDIA A100-SXM4-40GB", "a100-40g-sxm"},
                                  Alias{"NVIDIA A100-SXM4-80GB", "a100-80g-sxm"},
                                  Alias{"NVIDIA A100 80GB PCIe", "a100-80g-pcie"},
                                  Alias{"NVIDIA A800-SXM4-80GB", "a800-80g-sxm"},
                                  Alias{"NVIDIA GeForce RTX 3090", "rtx3090"},
                                  Alias{"NVIDIA GeForce RTX 4090", "rtx4090"},
                                  Alias{"NVIDIA L40S", "l40s"},
                                  Alias{"NVIDIA H100 80GB HBM3", "h100-80g-sxm"},
                                  Alias{"NVIDIA H800", "h800-80g-sxm"},
                                  Alias{"NVIDIA H20", "h20"},
                                  Alias{"NVIDIA H200", "h200-141g-sxm"},
                                  Alias{"NVIDIA B200", "b200-180g-sxm"},
                                  Alias{"NVIDIA B300 SXM6 AC", "b300-270g-sxm"},
                                  Alias{"NVIDIA GB200", "gb200-186g-nvl72"},
                                  Alias{"NVIDIA GB300", "gb300-279g-nvl72"}};

/// "NVIDIA H100 80GB HBM3" -> "h10080gbhbm3": older drivers omit the vendor.
std::string board_name(std::string_view name) {
    std::string folded;
    for (char const each : name) {
        if (each == ' ' || each == '-' || each == '_') continue;
        folded += each >= 'A' && each <= 'Z' ? static_cast<char>(each + ('a' - 'A')) : each;
    }
    for (std::string_view const vendor : {"nvidia", "tesla"}) {
        if (folded.starts_with(vendor)) folded.erase(0, vendor.size());
    }
    return folded;
}

std::string_view meant_by(std::string_view name) {
    auto const* const alias = std::ranges::find(kAliases, name, &Alias::name);
    if (alias != kAliases.end()) return alias->means;
    std::string const board = board_name(name);
    auto const* const driver = std::ranges::find_if(
        kDriverNames, [&](Alias const& each) { return board_name(each.name) == board; });
    return driver == kDriverNames.end() ? name : driver->means;
}

Error at_line(std::string_view file, toml::source_region const& region, std::string const& what) {
    return {Errc::invalid_input, fmt::format("{}:{}: {}", file, region.begin.line, what)};
}

Result<void> read_figures(toml::table const& from, std::string_view file, Hardware& into) {
    for (auto const& [key, node] : from) {
        auto const row = std::ranges::find(kFigures, key.str(), &FigureRow::key);
        if (row == kFigures.end()) {
            std::array<std::string_view, kFigures.size()> keys{};
            std::ranges::transform(kFigures, keys.begin(), &FigureRow::key);
            auto const near = nearest_name(key.str(), keys);
            return at_line(file, key.source(),
                           fmt::format("gpu.{}.{}: unknown key; {}", into.name, key.str(),
                                       near ? fmt::format("did you mean {}?", *near)
                                            : fmt::format("known: {}", fmt::join(keys, ", "))));
        }
        auto const value = node.is_number() ? node.value<double>() : std::nullopt;
        if (!value || !(*value >= row->min && *value <= row->max)) {
            return at_line(file, node.source(),
                           fmt::format("gpu.{}.{}: must be a number from {:g} to {:g}", into.name,
                                       row->key, row->min, row->max));
        }
        into.*row->member = *value;
    }
    for (FigureRow const& row : kFigures) {
        if (!row.required || into.*row.member > 0) continue;
        return at_line(file, from.source(), fmt::format("gpu.{}: lacks {}", into.name, row.key));
    }
    return {};
}

Result<toml::table> parsed_toml(std::string_view text, std::string_view file) {
    try {
        return toml::table(toml::parse(text, file));
    } catch (toml::parse_error const& error) {  // the parse boundary
        return at_line(file, error.source(), std::string(error.description()));
    }
}

}  // namespace

HardwareTable HardwareTable::built_in() {
    HardwareTable table;
    auto const read = table.add(built_in_gpus(), "gpus.toml");
    OSORA_CHECK(read.has_value());
    return table;
}

Result<void> HardwareTable::add(std::string_view toml, std::string_view file) {
    OSORA_TRY(toml::table const root, parsed_toml(toml, file));
    std::vector<Hardware> all = all_;
    for (auto const& [section, gpus] : root) {
        auto const* const table = gpus.as_table();
        if (section.str() != "gpu" || table == nullptr) {
            return at_line(file, section.source(),
                           fmt::format("{}: unknown section; valid: [gpu.NAME]", section.str()));
        }
        for (auto const& [name, node] : *table) {
            auto const* const figures = node.as_table();
            if (figures == nullptr) {
                return at_line(file, name.source(), fmt::format("gpu.{}: no table", name.str()));
            }
            auto found = std::ranges::find(all, name.str(), &Hardware::name);
            if (found == all.end()) {
                all.push_back({.name = std::string(name.str())});
                found = std::prev(all.end());
            }
            OSORA_TRY_VOID(read_figures(*figures, file, *found));
        }
    }
    all_ = std::move(all);
    return {};
}

Result<Hardware> HardwareTable::find(std::string_view name) const {
    auto const found = std::ranges::find(all_, meant_by(name), &Hardware::name);
    if (found != all_.end()) return *found;
    std::vector<std::string_view> names;
    for (Hardware const& each : all_) names.push_back(each.name);
    std::ranges::sort(names);
    auto const near = nearest_name(name, names);
    std::string const shown(name.substr(0, 64));
    return Error{Errc::not_found,
                 fmt::format("\"{}\" is not known; {}", shown,
                             near ? fmt::format("nearest valid: {}", *near)
                                  : fmt::format("valid: {}", fmt::join(names, ", ")))};
}

}  // namespace osora::plan
