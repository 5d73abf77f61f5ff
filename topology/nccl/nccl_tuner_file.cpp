#include "topology/nccl/nccl_tuner_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace osora::topology {
namespace {

// The limits of docs/rfc/006.
constexpr std::size_t kRegions = 512, kTunerFileBytes = 65536;
constexpr int kChannels = 64;
constexpr double kValueMax = 1e6;
constexpr std::array<std::string_view, 3> kHardware{"NVLINK", "PCI", "NET"};
constexpr std::array<std::string_view, 4> kGenerations{"volta", "ampere", "hopper", "blackwell"};
constexpr std::array<std::string_view, 3> kScales{"1", "2", "4"};

/// "12.5": at most six digits after the point.
Result<std::string> decimal(double value, std::string_view what) {
    if (!std::isfinite(value) || value < 0 || value > kValueMax) {
        return Error{Errc::invalid_input,
                     fmt::format("{} = {}: not in 0 to 1,000,000", what, value)};
    }
    std::string text = fmt::format("{:.6f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

Result<void> append_latencies(std::string& text, std::string_view name, ByAlgo const& now,
                              ByAlgo const& base) {
    for (std::size_t a = 0; a < kNcclAlgos; ++a) {
        for (std::size_t p = 0; p < kNcclProtos; ++p) {
            if (now[a][p] == base[a][p]) continue;
            std::string const line =
                fmt::format("latency {} {} {}", name, algo_name(static_cast<NcclAlgo>(a)),
                            proto_name(static_cast<NcclProto>(p)));
            OSORA_TRY(auto const value, decimal(now[a][p], line));
            text += line + " " + value + "\n";
        }
    }
    return {};
}

Result<void> append_bandwidths(std::string& text, std::string_view name, BandwidthTable const& now,
                               BandwidthTable const& base) {
    for (std::size_t g = 0; g < kGenerations.size(); ++g) {
        for (std::size_t s = 0; s < kScales.size(); ++s) {
            if (now[g][s] == base[g][s]) continue;
            std::string const line =
                fmt::format("bandwidth {} {} {}", name, kGenerations[g], kScales[s]);
            OSORA_TRY(auto const value, decimal(now[g][s], line));
            text += line + " " + value + "\n";
        }
    }
    return {};
}

Result<std::string> region_line(TunerRegion const& region) {
    auto const bad = [&](std::string_view why) {
        return Error{Errc::invalid_input,
                     fmt::format("region of {}: {}", collective_name(region.collective), why)};
    };
    if (region.collective > Collective::all_reduce) return bad("NCCL's tuner is not asked for it");
    if (region.start_bytes < 0 || region.stop_bytes <= region.start_bytes) {
        return bad(
            fmt::format("[{}, {}) is no range of bytes", region.start_bytes, region.stop_bytes));
    }
    auto const [ranks, nodes] = region.shape;
    if (ranks < 0 || nodes < 0 || (ranks != 0 && nodes > ranks)) return bad("no group");
    if (region.channels < 0 || region.channels > kChannels) return bad("channels not in 0 to 64");
    return fmt::format("region {} {} {} {} {} {} {} {}\n", collective_name(region.collective),
                       region.start_bytes, region.stop_bytes, ranks, nodes, algo_name(region.algo),
                       proto_name(region.proto), region.channels);
}

}  // namespace

Result<std::string> encode_tuner_file(TunerFile const& file) {
    std::string text = "osora-tuner 1\n";
    auto const& [now, base] = std::tie(file.constants, file.base);
    OSORA_TRY_VOID(append_latencies(text, "base", now.base_latency_us, base.base_latency_us));
    for (std::size_t h = 0; h < kHardware.size(); ++h) {
        OSORA_TRY_VOID(append_latencies(text, kHardware[h], now.hardware_latency_us[h],
                                        base.hardware_latency_us[h]));
    }
    OSORA_TRY_VOID(append_bandwidths(text, "ll", now.ll_max_gbps, base.ll_max_gbps));
    OSORA_TRY_VOID(
        append_bandwidths(text, "ring_ll128", now.ring_ll128_max_gbps, base.ring_ll128_max_gbps));
    OSORA_TRY_VOID(
        append_bandwidths(text, "tree_ll128", now.tree_ll128_max_gbps, base.tree_ll128_max_gbps));
    OSORA_TRY_VOID(append_bandwidths(text, "tree", now.tree_max_gbps, base.tree_max_gbps));
    OSORA_TRY_VOID(
        append_bandwidths(text, "nvls_tree", now.nvls_tree_max_gbps, base.nvls_tree_max_gbps));
    if (file.regions.size() > kRegions) {
        return Error{Errc::invalid_input,
                     fmt::format("{} regions, limit {}", file.regions.size(), kRegions)};
    }
    for (TunerRegion const& region : file.regions) {
        OSORA_TRY(auto const line, region_line(region));
        text += line;
    }
    if (file.regions_always) text += "regions always\n";
    text += "end\n";
    if (text.size() > kTunerFileBytes) return Error{Errc::invalid_input, "larger than 64 KiB"};
    return text;
}

std::vector<TunerRegion> tuner_regions(NcclGroup const& group, NcclConstants const& constants) {
    constexpr int kFirst = 6, kLast = 36;  // 64 B, where NCCL's corrections begin, to 64 GiB
    std::vector<TunerRegion> regions;
    for (Collective const collective :
         {Collective::broadcast, Collective::reduce, Collective::all_gather,
          Collective::reduce_scatter, Collective::all_reduce}) {
        TunerRegion region;
        for (int power = kFirst; power <= kLast; ++power) {
            std::int64_t const size = std::int64_t{1} << power;
            auto const ranking = nccl_ranking(group, constants, collective, size);
            if (ranking.empty()) break;
            NcclCost const& best = ranking.front().cost;
            bool const same =
                region.stop_bytes > 0 && region.algo == best.algo && region.proto == best.proto;
            if (!same) {
                if (region.stop_bytes > 0) regions.push_back(region);
                region = {
                    collective, power == kFirst ? 0 : size, 0, group.shape, best.algo, best.proto,
                    0};
            }
            region.stop_bytes =
                power == kLast ? std::numeric_limits<std::int64_t>::max() : 2 * size;
        }
        if (region.stop_bytes > 0) regions.push_back(region);
    }
    return regions;
}

}  // namespace osora::topology
