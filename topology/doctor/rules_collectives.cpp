// Rules about measured collectives: rows 20 and 30.
#include "topology/doctor/rules_internal.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace osora::topology::doctor {
namespace {

/// Samples of one collective over one group, by size.
using Sweep = std::map<std::int64_t, double>;  // size_bytes -> time_us

std::map<std::string, Sweep> sweeps_of(ProbeResult const& probe) {
    std::map<std::string, std::map<std::int64_t, std::vector<double>>> times;
    for (auto const& each : probe.collectives) {
        if (!(each.time_us > 0) || !std::isfinite(each.time_us) || each.size_bytes <= 0) continue;
        auto const name = fmt::format("{} {} over {} ranks on {} nodes", each.backend,
                                      each.collective, each.ranks, each.nodes);
        times[name][each.size_bytes].push_back(each.time_us);
    }
    std::map<std::string, Sweep> sweeps;
    for (auto const& [name, by_size] : times) {
        for (auto const& [size, values] : by_size) sweeps[name][size] = median(values);
    }
    return sweeps;
}

}  // namespace

Outcome check_size_dip(Evidence const& evidence) {
    if (!evidence.probe || evidence.probe->collectives.empty())
        return skip("no collectives measured");
    Outcome outcome;
    for (auto const& [name, sweep] : sweeps_of(*evidence.probe)) {
        if (sweep.size() < 3) continue;
        for (auto at = std::next(sweep.begin()); std::next(at) != sweep.end(); ++at) {
            auto const& [size, time] = *at;
            auto const& [smaller, before] = *std::prev(at);
            auto const& [larger, next] = *std::next(at);
            // On the straight line between its neighbours in log-log.
            double const share =
                std::log(static_cast<double>(size) / static_cast<double>(smaller)) /
                std::log(static_cast<double>(larger) / static_cast<double>(smaller));
            double const usual = before * std::pow(next / before, share);
            if (!(time > 2 * usual && time > next)) continue;
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .title =
                     fmt::format("A bad choice of algorithm at {}: {}", format_bytes(size), name),
                 .seen = fmt::format("{:.0f} us, longer than {:.0f} us for {}", time, next,
                                     format_bytes(larger)),
                 .effect =
                     fmt::format("messages of that size take {:.1f} times as long", time / usual),
                 .fix = "exclude what it chose (NCCL_DEBUG_SUBSYS=TUNING names it), e.g. "
                        "--set nccl.NCCL_ALGO='^tree'; osora tune --nccl",
                 .impact = 1 - usual / time});
        }
    }
    return outcome;
}

Outcome check_busbw(Evidence const& evidence) {
    if (!evidence.probe || evidence.probe->collectives.empty())
        return skip("no collectives measured");
    double wire = 0;  // Gbit/s of a node
    for (auto const& node : evidence.nodes) {
        double sum = 0;
        for (auto const* each : compute_nics(node)) sum += each->rate_gbit;
        wire = std::max(wire, sum);
    }
    if (wire <= 0) return skip("no RDMA NIC");
    Outcome outcome;
    for (auto const& each : evidence.probe->collectives) {
        bool const fit = each.collective == "all_reduce" && each.nodes == 2 && each.ranks > 1;
        if (!fit || !(each.time_us > 0)) continue;
        // nccl-tests doc/PERFORMANCE.md: busbw = algbw x 2(n-1)/n.
        double const busbw = static_cast<double>(each.size_bytes) * 8e-3 / each.time_us * 2 *
                             (each.ranks - 1) / each.ranks;
        if (busbw <= 1.02 * wire) continue;
        outcome.findings.push_back(
            {.severity = Severity::info,
             .title = "busbw of all_reduce over two nodes is above what the wires carry",
             .seen = fmt::format("{} at {}, NICs {}", format_gbit_per_s(busbw),
                                 format_bytes(each.size_bytes), format_gbit_per_s(wire)),
             .effect = "none: Tree and NVLSTree send half as much over the network as busbw counts",
             .fix = "judge the network with NCCL_ALGO=RING"});
        break;
    }
    return outcome;
}

}  // namespace osora::topology::doctor
