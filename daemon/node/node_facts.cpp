// /proc/cpuinfo, /proc/meminfo, /etc/os-release, /proc/self/cgroup and its memory.events.
#include "daemon/node/node_facts.hpp"

#include "base/files/files.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <string_view>

namespace osora::daemon {
namespace {

/// What follows `key` and the separators after it, to the end of the line.
std::optional<std::string> value_of(std::string const& text, std::string_view key) {
    std::string_view rest(text);
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (!line.starts_with(key)) continue;
        line.remove_prefix(key.size());
        auto const begin = line.find_first_not_of(" \t:=\"");
        if (begin == std::string_view::npos) continue;
        auto const end = line.find_last_not_of(" \t\"");
        return std::string(line.substr(begin, end - begin + 1));
    }
    return std::nullopt;
}

std::string content_or_empty(std::filesystem::path const& path) {
    auto content = read_file(path);
    return content.has_value() ? *content : "";
}

}  // namespace

std::map<std::string, std::string> node_facts(std::filesystem::path const& root) {
    std::map<std::string, std::string> facts;
    if (auto cpu = value_of(content_or_empty(root / "proc/cpuinfo"), "model name"))
        facts["cpu"] = *cpu;
    if (auto os = value_of(content_or_empty(root / "etc/os-release"), "PRETTY_NAME"))
        facts["os"] = *os;
    if (auto memory = value_of(content_or_empty(root / "proc/meminfo"), "MemTotal")) {
        double const kib = std::strtod(memory->c_str(), nullptr);
        facts["memory_gib"] = fmt::format("{:.1f}", kib / (1 << 20));
    }
    cpu_set_t usable;
    if (::sched_getaffinity(0, sizeof usable, &usable) == 0) {
        facts["cpus"] = std::to_string(CPU_COUNT(&usable));
    }
    struct utsname system {};
    if (::uname(&system) == 0) facts["kernel"] = system.release;
    return facts;
}

std::optional<long> oom_kills(std::filesystem::path const& root) {
    auto const group = value_of(content_or_empty(root / "proc/self/cgroup"), "0::/");
    std::string const path = group ? *group : "";
    auto const events = content_or_empty(root / "sys/fs/cgroup" / path / "memory.events");
    auto const count = value_of(events, "oom_kill ");
    if (!count) return std::nullopt;
    return std::strtol(count->c_str(), nullptr, 10);
}

}  // namespace osora::daemon
