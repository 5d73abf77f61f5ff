#include "topology/node_load.hpp"

#include "topology/text_of.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

/// The number at the start of `text`, after blanks.
template <class T>
std::optional<T> number_at(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    T value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < T{}) return {};
    return value;
}

/// What follows `key` at the start of a line, to its end.
std::optional<std::string_view> line_behind(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        std::string_view const line = text.substr(0, text.find('\n'));
        if (line.starts_with(key)) return line.substr(key.size());
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return {};
}

/// Of the file `name` of a cgroup; inside a separate namespace the path may not exist.
std::optional<std::int64_t> usage(fs::path const& base, std::string_view path, char const* name) {
    for (fs::path const& folder : {base / fs::path(path).relative_path(), base}) {
        if (auto const bytes = number_at<std::int64_t>(text_of(folder / name))) return bytes;
    }
    return {};
}

std::int64_t cgroup_memory(fs::path const& root) {
    std::string const text = text_of(root / "proc/self/cgroup");
    std::optional<std::int64_t> bytes;
    if (auto const path = line_behind(text, "0::")) {
        bytes = usage(root / "sys/fs/cgroup", *path, "memory.current");
    }
    auto const at = text.find(":memory:");
    if (!bytes && at != std::string::npos) {
        std::string_view const rest = std::string_view(text).substr(at + 8);
        bytes = usage(root / "sys/fs/cgroup/memory", rest.substr(0, rest.find('\n')),
                      "memory.usage_in_bytes");
    }
    return bytes.value_or(0);
}

}  // namespace

std::optional<double> load_of(std::string_view loadavg) {
    return number_at<double>(loadavg);
}

std::optional<std::int64_t> available_memory_bytes(std::string_view meminfo) {
    auto const line = line_behind(meminfo, "MemAvailable:");
    auto const kib = line ? number_at<std::int64_t>(*line) : std::nullopt;
    if (!kib || *kib > (std::int64_t{1} << 50)) return {};
    return *kib * 1024;
}

NodeLoad read_node_load(fs::path const& root) {
    NodeLoad node;
    node.load = load_of(text_of(root / "proc/loadavg")).value_or(node.load);
    node.memory_available_bytes =
        available_memory_bytes(text_of(root / "proc/meminfo")).value_or(0);
    node.cgroup_memory_bytes = cgroup_memory(root);
    return node;
}

}  // namespace osora::topology
