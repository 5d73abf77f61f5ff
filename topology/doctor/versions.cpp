// The tables; each row names its source.
#include "topology/doctor/versions.hpp"

#include "base/text/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

View head(View version) {
    return version.substr(0, version.find_first_of("+- "));
}

/// Removes and returns the first part.
View next_part(View& version) {
    std::size_t const dot = std::min(version.find('.'), version.size());
    View const part = version.substr(0, dot);
    version.remove_prefix(std::min(dot + 1, version.size()));
    return part;
}

int compare_parts(View a, View b) {
    unsigned long x = 0, y = 0;
    auto const [end_a, error_a] = std::from_chars(a.data(), a.data() + a.size(), x);
    auto const [end_b, error_b] = std::from_chars(b.data(), b.data() + b.size(), y);
    bool const numbers = error_a == std::errc() && error_b == std::errc() &&
                         end_a == a.data() + a.size() && end_b == b.data() + b.size();
    if (numbers) return x < y ? -1 : x > y;
    return a.compare(b);
}

// The wheels' requirements: torch X.Y.Z needs exactly these.
constexpr std::array kCombinations{
    KnownCombination{"PyTorch 2.1's wheels", "12.1", "2.18.1", "2.1", "", ""},
    KnownCombination{"PyTorch 2.2's wheels", "12.1", "2.19.3", "2.2", "", ""},
    KnownCombination{"PyTorch 2.3's wheels", "12.1", "2.20.5", "2.3", "", ""},
    KnownCombination{"PyTorch 2.4's wheels", "12.1", "2.20.5", "2.4", "", ""},
    KnownCombination{"PyTorch 2.4's wheels", "12.4", "2.20.5", "2.4", "", ""},
    KnownCombination{"PyTorch 2.5's wheels", "12.4", "2.21.5", "2.5", "", ""},
    KnownCombination{"PyTorch 2.6's wheels", "12.4", "2.21.5", "2.6", "", ""},
    KnownCombination{"PyTorch 2.7's wheels", "12.6", "2.26.2", "2.7", "", ""},
    KnownCombination{"PyTorch 2.8's wheels", "12.8", "2.27.3", "2.8", "", ""},
    KnownCombination{"PyTorch 2.9's wheels", "12.8", "2.27.5", "2.9", "", ""},
    KnownCombination{"PyTorch 2.10's wheels", "12.8", "2.27.5", "2.10", "", ""},
    KnownCombination{"PyTorch 2.11's wheels, osora's own tests", "13.0", "2.28.9", "2.11", "", ""},
    KnownCombination{"osora's own tests (Debian 12)", "", "", "2.11", "", "5.1"},
    KnownCombination{"osora's own tests (Ubuntu 24.04)", "", "", "2.11", "", "6.1"},
    // requirements/requirements{,-cu121,-cu124}.txt of its releases
    KnownCombination{"Open-Sora's requirements, cu121", "12.1", "2.19.3", "2.2", "0.4", ""},
    KnownCombination{"Open-Sora's requirements, cu121", "12.1", "2.20.5", "2.3", "0.4", ""},
    KnownCombination{"Open-Sora's requirements, cu124", "12.4", "2.20.5", "2.4", "0.4", ""},
};

constexpr std::array kTroubles{
    KnownTrouble{.name = "nccl",
                 .first = "2.11.4",
                 .last = "2.16.5",
                 .what = "2 nodes of 8 A100 with 2 IB NICs: 57 -> 7 GB/s",
                 .fix = "compare with NCCL 2.18 or later at the same nodes",
                 .threads = "nccl#837",
                 .gpus = "A100",
                 .many_nodes = true},
    KnownTrouble{.name = "nccl",
                 .first = "2.16.2",
                 .last = "2.16.2",
                 .what = "GPUs in pairs of NVLink: 10 times slower than 2.14.3 and 2.15.5",
                 .fix = "take another NCCL",
                 .threads = "nccl#770",
                 .gpus = "A40 A6000 3090"},
    KnownTrouble{.name = "nccl",
                 .first = "2.20.3",
                 .last = "2.20.3",
                 .what = "4 nodes of 8 H100: all_reduce below 2.19.3's 388 GB/s",
                 .fix = "compare with another NCCL at the same nodes",
                 .threads = "nccl#1222",
                 .gpus = "H100",
                 .many_nodes = true},
    KnownTrouble{.name = "nccl",
                 .first = "2.25.1",
                 .last = "2.27.3",
                 .what = "nodes of 4 A100: rings over PXN slower than with 2.22",
                 .fix = "try NCCL_PXN_DISABLE=1 (34 GB/s were back with it); keep what helps",
                 .threads = "nccl#1876",
                 .gpus = "A100",
                 .many_nodes = true,
                 .note = true},
    KnownTrouble{.name = "nccl",
                 .first = "2.27.0",
                 .last = "2.28.99",
                 .what = "NVLS that cannot be set up is silently left out, and may hang",
                 .fix = "look for NVLS in the log of NCCL_DEBUG=INFO; 2.29 fails instead",
                 .threads = "nccl:env.rst",
                 .gpus = "H100 H200 B200",
                 .note = true},
    KnownTrouble{.name = "nccl",
                 .first = "2.27.7",
                 .last = "2.27.7",
                 .what = "2 nodes of 8 B200: 10 % below 2.27.5",
                 .fix = "take another NCCL",
                 .threads = "awsome-distributed-ai#892",
                 .gpus = "B200",
                 .many_nodes = true},
    KnownTrouble{.name = "nccl",
                 .first = "2.29.0",
                 .last = "2.29.99",
                 .what = "all_reduce of small tensors slower than with 2.28",
                 .fix = "larger gradient buckets hide it",
                 .threads = "nccl#2094",
                 .gpus = "H100",
                 .note = true},
    KnownTrouble{.name = "nccl",
                 .first = "2.30.4",
                 .last = "2.30.4",
                 .what = "small all_to_all in two modes: 2.6 and 4.1 tokens/s",
                 .fix = "take NCCL 2.29.7",
                 .threads = "TensorRT-LLM#17160",
                 .gpus = "GB300"},
    KnownTrouble{.name = "colossalai",
                 .first = "0.0.0",
                 .last = "0.3.99",
                 .what = "gathers each parameter by itself: 972 x world size small kernels a step",
                 .fix = "take ColossalAI 0.4.0 or later: it gathers buckets",
                 .threads = "ColossalAI#5860 Open-Sora#480",
                 .many_nodes = true},
};

}  // namespace

int compare_versions(View a, View b) {
    a = head(a);
    b = head(b);
    while (!a.empty() || !b.empty()) {
        View const x = next_part(a);
        View const y = next_part(b);
        // A missing part counts as zero.
        if (int const order = compare_parts(x.empty() ? "0" : x, y.empty() ? "0" : y)) return order;
    }
    return 0;
}

bool is_of(View version, View prefix) {
    version = head(version);
    if (!version.starts_with(prefix)) return false;
    return version.size() == prefix.size() || version[prefix.size()] == '.';
}

namespace {

/// NCCL_VERSION_CODE: 2708 is 2.7.8; from 2.9 on 20903.
std::string version_of_code(unsigned long code) {
    auto const text = [](auto... parts) {
        std::string joined;
        ((joined += (joined.empty() ? "" : ".") + std::to_string(parts)), ...);
        return joined;
    };
    if (code >= 10'000) return text(code / 10'000, code / 100 % 100, code % 100);
    return text(code / 1000, code / 100 % 10, code % 100);
}

}  // namespace

std::string nccl_version(View text) {
    View const version = text.substr(0, text.find_first_not_of("0123456789."));
    unsigned long parts[3] = {0, 0, 0};
    int count = 0;
    for (View rest = version; !rest.empty() && count < 3; ++count) {
        auto const number = whole_number<unsigned long>(next_part(rest));
        if (!number || *number > 1'000'000) return {};
        parts[count] = *number;
    }
    if (count == 1 && parts[0] >= 1000) return version_of_code(parts[0]);
    bool const misread = count == 3 && parts[0] >= 20 && parts[1] < 10 && parts[2] < 100;
    if (misread) return version_of_code(parts[0] * 1000 + parts[1] * 100 + parts[2]);
    return std::string(version);
}

std::span<KnownCombination const> known_combinations() {
    return kCombinations;
}

KnownCombination const* find_combination(Versions const& versions) {
    auto const value = [&](char const* name) {
        auto const found = versions.find(name);
        return found == versions.end() ? View() : View(found->second);
    };
    for (auto const& each : kCombinations) {
        int agreed = 0;
        bool differs = false;
        for (auto const& [name, wanted] : {std::pair{"cuda", each.cuda},
                                           {"nccl", each.nccl},
                                           {"libtorch", each.libtorch},
                                           {"colossalai", each.colossalai},
                                           {"ffmpeg", each.ffmpeg}}) {
            View const is = value(name);
            if (wanted.empty() || is.empty()) continue;
            if (is_of(is, wanted)) {
                ++agreed;
            } else {
                differs = true;
            }
        }
        if (!differs && agreed >= 2) return &each;
    }
    return nullptr;
}

std::span<KnownTrouble const> known_troubles() {
    return kTroubles;
}

std::optional<View> oldest_driver(View cuda) {
    // docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html, table 1.
    constexpr std::array<std::pair<View, View>, 3> kOldest{
        {{"13", "580"}, {"12", "525"}, {"11", "450"}}};
    for (auto const& [major, driver] : kOldest) {
        if (is_of(cuda, major)) return driver;
    }
    return {};
}

}  // namespace osora::topology::doctor
