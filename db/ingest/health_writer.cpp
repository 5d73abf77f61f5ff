#include "db/ingest/health_writer.hpp"

#include <cmath>
#include <optional>
#include <set>

namespace osora::db {
namespace {

std::optional<double> if_known(double value) {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> if_known(std::int64_t value) {
    return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

void save_health(Connection& connection, std::int64_t run_id, protocol::JournalRecord const& record,
                 protocol::NodeHealth const& health) {
    auto const sequence = static_cast<std::int64_t>(record.sequence);
    execute(connection, "INSERT INTO node_health VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)", run_id,
            sequence, record.wall_us, health.node, health.why, if_known(health.load),
            if_known(health.memory_available_bytes), if_known(health.cgroup_memory_bytes),
            if_known(health.disk_free_bytes));
    std::set<int> known;  // a record may name a GPU twice
    for (protocol::GpuHealth const& gpu : health.gpus) {
        if (!known.insert(gpu.gpu).second) continue;
        execute(connection, "INSERT INTO gpu_health VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", run_id,
                sequence, gpu.gpu, if_known(gpu.temperature_c), if_known(gpu.power_w),
                if_known(gpu.sm_mhz), gpu.throttle_reasons, gpu.ecc_uncorrected,
                gpu.memory_used_bytes, protocol::json::serialize(protocol::to_json(gpu.xids)));
    }
}

}  // namespace osora::db
