#include "protocol/node_memory_file.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

namespace osora::protocol {
namespace {

constexpr std::int64_t kMemoryFileBytesMax = 4 << 20;

std::filesystem::path lock_path(StatePaths const& state) {
    return state.node_memory().string() + ".lock";
}

Result<void> write_node_memory(StatePaths const& state, NodeMemory const& memory) {
    return write_file_atomic(state.node_memory(), encode(memory) + "\n", 0600);
}

}  // namespace

Result<NodeMemory> read_node_memory(StatePaths const& state) {
    auto const text = read_file(state.node_memory(), kMemoryFileBytesMax);
    if (text.has_error() && text.error().code == Errc::not_found) return NodeMemory{};
    if (text.has_error()) return text.error();
    auto memory = decode<NodeMemory>(*text);
    if (memory.has_error()) return std::move(memory).error().in(state.node_memory().string());
    return memory;
}

std::vector<std::string> remembered_bad_hosts(StatePaths const& state,
                                              std::int64_t now_us) {
    auto const memory = read_node_memory(state);
    return memory.has_value() ? bad_hosts(*memory, now_us) : std::vector<std::string>();
}

Result<void> remember_fault(StatePaths const& state, HostFault const& fault,
                            std::int64_t now_us) {
    constexpr auto kPatience = std::chrono::milliseconds(500);
    OSORA_TRY(auto const lock, FileLock::acquire(lock_path(state), kPatience));
    auto known = read_node_memory(state);
    return write_node_memory(
        state, with_fault(known.has_value() ? std::move(*known) : NodeMemory{}, fault.host,
                          fault.weight, fault.cause, now_us));
}

Result<bool> forget_node(StatePaths const& state, std::string const& host) {
    std::error_code error;
    std::optional<FileLock> lock;
    if (std::filesystem::exists(state.node_memory(), error)) {
        OSORA_TRY(lock, FileLock::acquire(lock_path(state)));
    }
    OSORA_TRY(auto memory, read_node_memory(state));
    auto const removed =
        std::erase_if(memory.nodes, [&host](auto const& each) { return each.host == host; });
    if (removed == 0) return false;
    OSORA_TRY_VOID(write_node_memory(state, memory));
    return true;
}

}  // namespace osora::protocol
