// One pass over /proc/*/environ; files of other users cannot be read, and their processes do not
// count.
#include "base/process/marked_processes.hpp"

#include "base/files/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace osora {
namespace {

/// Whether the NUL-terminated entries of `environ` include `mark`.
bool holds(std::string const& environ, std::string const& mark) {
    for (auto at = environ.find(mark); at != std::string::npos; at = environ.find(mark, at + 1)) {
        auto const end = at + mark.size();
        bool const begins = at == 0 || environ[at - 1] == '\0';
        bool const ends = end == environ.size() || environ[end] == '\0';
        if (begins && ends) return true;
    }
    return false;
}

}  // namespace

std::vector<ProcessId> processes_marked(Environment const& marks) {
    std::vector<ProcessId> found;
    std::error_code error;
    std::filesystem::directory_iterator entries("/proc", error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        std::string const name = entries->path().filename().string();
        int pid = 0;
        auto const* const end = name.data() + name.size();
        if (std::from_chars(name.data(), end, pid).ptr != end || pid == ::getpid()) continue;
        auto const id = process_id_of(pid);
        auto const environ = read_file(entries->path() / "environ");
        if (id.has_error() || environ.has_error()) continue;
        bool const marked = std::ranges::all_of(
            marks, [&](std::string const& mark) { return holds(*environ, mark); });
        if (marked && is_alive(*id)) found.push_back(*id);
    }
    return found;
}

}  // namespace osora
