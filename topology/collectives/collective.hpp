// The collectives that are measured and modelled: names, bus factors, steps of a ring. Pure.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace osora::topology {

/// The first five with NCCL's own numbers (ncclFunc_t).
enum class Collective {
    broadcast = 0,
    reduce = 1,
    all_gather = 2,
    reduce_scatter = 3,
    all_reduce = 4,
    all_to_all,
    send_recv,
    gather,
    scatter
};

/// The participants.
struct GroupShape {
    int ranks = 0, nodes = 0;
    friend auto operator<=>(GroupShape const&, GroupShape const&) = default;
};

/// "all_reduce", "allreduce", "AllReduce", "all-reduce", "all_reduce_perf": ignores case, "_", "-"
/// and nccl-tests' "_perf". The error names the nearest.
[[nodiscard]] Result<Collective> parse_collective(std::string_view name);
[[nodiscard]] std::string_view collective_name(Collective collective);  // "all_reduce"
[[nodiscard]] std::string_view nccl_name(Collective collective);        // "AllReduce"

/// busbw / algbw as nccl-tests defines them (doc/PERFORMANCE.md): 2(n-1)/n for all_reduce, (n-1)/n
/// if each rank keeps a share, else 1. `size_bytes` is always nccl-tests' size: for all_gather and
/// reduce_scatter the total, n x count.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

/// Steps of a ring with one message per rank; for all_to_all the n-1 exchanges.
[[nodiscard]] int ring_steps(Collective collective, int ranks);

/// 1 <= nodes <= ranks <= 1,048,576.
[[nodiscard]] Result<void> check_shape(GroupShape const& shape);
/// "8 ranks on 1 node"
[[nodiscard]] std::string describe(GroupShape const& shape);

/// "32MiB", "1M", "1g", "1.5GiB", "4096", "512B": bytes; K, M, G, T are binary. At least 1.
[[nodiscard]] Result<std::int64_t> parse_size_bytes(std::string_view text);

}  // namespace osora::topology
