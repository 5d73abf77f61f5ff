#include "daemon/backends/slurm/node_memory_file.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "protocol/run_directory.hpp"

namespace osora::daemon {
namespace {

constexpr std::int64_t kMemoryFileBytesMax = 4 << 20;

}  // namespace

std::filesystem::path node_memory_path(std::filesystem::path const& run_dir) {
    return protocol::RunPaths{run_dir}.state().node_memory();
}

slurm::NodeMemory read_node_memory(std::filesystem::path const& path) {
    auto const text = read_file(path, kMemoryFileBytesMax);
    if (text.has_error()) return {};
    auto memory = protocol::decode<slurm::NodeMemory>(*text);
    return memory.has_value() ? std::move(*memory) : slurm::NodeMemory{};
}

Result<void> remember_fault(std::filesystem::path const& path, NodeFault const& fault) {
    constexpr auto kPatience = std::chrono::milliseconds(500);
    OSORA_TRY(auto const lock, FileLock::acquire(path.string() + ".lock", kPatience));
    auto const memory = slurm::with_fault(read_node_memory(path), fault.host, fault.weight,
                                          fault.cause, fault.wall_us);
    return write_file_atomic(path, protocol::encode(memory) + "\n", 0600);
}

}  // namespace osora::daemon
