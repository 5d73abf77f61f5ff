// One pass over /proc for each call.
#include "base/process/descendants.hpp"

#include "base/files/files.hpp"
#include "base/process/process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

namespace osora {
namespace {

struct Entry {
    int parent = 0;
    char state = 0;
    long long start_ticks = 0;
};

/// Every process of /proc by its pid.
std::map<int, Entry> read_processes() {
    std::map<int, Entry> processes;
    std::error_code error;
    std::filesystem::directory_iterator entries("/proc", error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        std::string const name = entries->path().filename().string();
        int pid = 0;
        auto const* const end = name.data() + name.size();
        if (std::from_chars(name.data(), end, pid).ptr != end) continue;
        auto const stat = read_file(entries->path() / "stat");
        if (stat.has_error()) continue;  // it has just ended
        // "pid (comm) state ppid ...": comm may hold anything.
        auto const behind = stat->rfind(')');
        Entry entry;
        if (behind == std::string::npos) continue;
        int const fields = std::sscanf(
            stat->c_str() + behind + 1,
            " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
            &entry.state, &entry.parent, &entry.start_ticks);
        if (fields == 3) processes[pid] = entry;
    }
    return processes;
}

/// Pids below `root`, parents first; not below those in `spared`.
std::vector<int> below(std::map<int, Entry> const& processes, int root,
                       std::vector<int> const& spared) {
    std::vector<int> found{root};
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (auto const& [pid, entry] : processes) {
            if (entry.parent == found[i] && !std::ranges::count(spared, pid)) found.push_back(pid);
        }
    }
    found.erase(found.begin());
    return found;
}

bool is_zombie(Entry const& entry) {
    return entry.state == 'Z' || entry.state == 'X';
}

}  // namespace

void become_subreaper() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<ProcessId> descendants_of(int pid) {
    std::vector<ProcessId> living;
    auto const processes = read_processes();
    for (int const each : below(processes, pid, {})) {
        Entry const& entry = processes.at(each);
        if (!is_zombie(entry)) living.push_back({.pid = each, .start_ticks = entry.start_ticks});
    }
    return living;
}

int kill_descendants(std::vector<int> const& spared) {
    int alive = 0;
    auto const processes = read_processes();
    for (int const pid : below(processes, ::getpid(), spared)) {
        Entry const& entry = processes.at(pid);
        bool const own_child = entry.parent == ::getpid();
        if (!is_zombie(entry)) {
            ++alive;
            signal_process({.pid = pid, .start_ticks = entry.start_ticks}, SIGKILL);
        } else if (own_child) {
            ::waitpid(pid, nullptr, WNOHANG);
        }
    }
    return alive;
}

}  // namespace osora
