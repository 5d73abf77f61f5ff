// Reads /proc/locks: "1: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF" (proc(5)); the file is
// major:minor:inode, the device in hex.
#include "db/store/lock_holder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace osora::db {
namespace {

std::vector<std::string> identities(std::span<std::filesystem::path const> files) {
    std::vector<std::string> result;
    for (auto const& file : files) {
        struct stat info {};
        if (::stat(file.c_str(), &info) != 0) continue;
        result.push_back(
            fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino));
    }
    return result;
}

std::string program_of(int pid) {
    std::string name;
    std::ifstream comm(fmt::format("/proc/{}/comm", pid));
    std::getline(comm, name);
    return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} (pid {})", name, pid);
}

}  // namespace

std::string lock_holder(std::span<std::filesystem::path const> files) {
    auto const wanted = identities(files);
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
        std::istringstream words(line);
        std::string number, kind, advisory, access, identity;
        int pid = 0;
        words >> number >> kind;
        if (kind == "->") continue;  // waits for the lock, does not hold it
        words >> advisory >> access >> pid >> identity;
        if (pid <= 0 || pid == ::getpid()) continue;
        if (std::ranges::find(wanted, identity) != wanted.end()) return program_of(pid);
    }
    return {};
}

}  // namespace osora::db
