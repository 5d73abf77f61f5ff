#include "plan/collective_request.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

namespace osora::plan {
namespace {

constexpr std::array<std::string_view, 6> kCollectives{"all_reduce", "all_gather", "reduce_scatter",
                                                       "all_to_all", "broadcast",  "send_recv"};
constexpr std::size_t kCasesMax = 100'000;

Error bad(std::string message) {
    return {Errc::invalid_input, "probe: " + std::move(message)};
}

Result<void> check_set(ProbeGroupSet const& set, int world_size) {
    bool const named =
        !set.name.empty() && set.name.size() <= 100 &&
        std::ranges::all_of(set.name, [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ' ';
        });
    if (!named) return bad("a group set needs a name of letters, digits, -, _, . and blanks");
    if (set.groups.empty()) return bad(fmt::format("{}: has no group", set.name));
    std::set<int> seen;
    for (auto const& group : set.groups) {
        if (group.size() < 2)
            return bad(fmt::format("{}: a group has two ranks or more", set.name));
        for (int const rank : group) {
            if (rank < 0 || rank >= world_size)
                return bad(
                    fmt::format("{}: rank {}: valid: 0 to {}", set.name, rank, world_size - 1));
            if (!seen.insert(rank).second)
                return bad(fmt::format("{}: rank {} is given twice", set.name, rank));
        }
    }
    return {};
}

}  // namespace

Result<void> check_collective_request(CollectiveRequest const& request, int world_size) {
    if (request.collectives.empty() || request.sizes_bytes.empty())
        return bad("needs a collective and a size");
    for (auto const& each : request.collectives) {
        if (std::ranges::find(kCollectives, each) == kCollectives.end())
            return bad(fmt::format("collective '{}' is not one of: {}", each,
                                   fmt::join(kCollectives, ", ")));
    }
    for (std::int64_t const size : request.sizes_bytes) {
        if (size < 1 || size > kProbeBytesMax)
            return bad(fmt::format("size {}: valid: 1 to {} bytes", size, kProbeBytesMax));
    }
    if (!request.world && request.group_sets.empty()) return bad("no group is to be measured");
    if (request.world && world_size < 2) return bad("needs two ranks or more");
    for (auto const& set : request.group_sets) OSORA_TRY_VOID(check_set(set, world_size));
    if ((request.group_sets.size() + 1) * request.collectives.size() * request.sizes_bytes.size() >
        kCasesMax)
        return bad(fmt::format("more than {} measurements", kCasesMax));
    if (request.iterations_min < 1 || request.iterations_max < request.iterations_min)
        return bad("iterations_min: at least 1 and at most iterations_max");
    if (!(request.spread > 0)) return bad("spread: must be above 0");
    if (!(request.time_limit_s > 0 && std::isfinite(request.time_limit_s)))
        return bad("time_limit_s: must be above 0");
    return {};
}

CollectiveRequest job_shaped_request(int nodes, int ranks_per_node) {
    constexpr std::int64_t kKib = 1 << 10, kMib = 1 << 20;
    CollectiveRequest request;
    request.collectives = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
    request.sizes_bytes = {64 * kKib, kMib, 4 * kMib, 32 * kMib, 256 * kMib, 1024 * kMib};
    auto const add_groups = [&](int of_nodes) {
        ProbeGroupSet set{.name = fmt::format("{} node{}", of_nodes, of_nodes == 1 ? "" : "s"),
                          .groups = {}};
        for (int first = 0; first < nodes; first += of_nodes) {
            int const end = std::min(nodes, first + of_nodes);
            std::vector<int> ranks(static_cast<std::size_t>((end - first) * ranks_per_node));
            std::iota(ranks.begin(), ranks.end(), first * ranks_per_node);
            if (ranks.size() > 1 || set.groups.empty()) {
                set.groups.push_back(std::move(ranks));
            } else {
                set.groups.back().push_back(ranks.front());  // no rank is alone
            }
        }
        if (set.groups.size() > 1) request.group_sets.push_back(std::move(set));
    };
    if (ranks_per_node > 1 && nodes > 1) add_groups(1);
    for (int of_nodes = 2; of_nodes < nodes; of_nodes *= 2) add_groups(of_nodes);
    return request;
}

TimesSummary summarise_times(std::vector<double> times_s, CollectiveRequest const& request) {
    OSORA_CHECK(!times_s.empty());
    auto const count = static_cast<int>(times_s.size());
    TimesSummary summary{.median_s = median(times_s), .enough = false};
    for (double& each : times_s) each = std::abs(each - summary.median_s);
    bool const narrow = median(times_s) <= request.spread * summary.median_s;
    summary.enough = count >= request.iterations_max || (narrow && count >= request.iterations_min);
    return summary;
}

}  // namespace osora::plan
