#include "topology/live/storage_read.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/robust.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kFirstBytes = 4096, kReadBytes = 4 << 20;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Adds what it reads from one file; false: nothing.
bool read_one(std::string const& path, std::vector<char>& block, Clock::time_point until,
              StorageRead& total, std::vector<double>& opens_us) {
    auto const begin = Clock::now();
    auto const opened = open_regular(path);
    if (opened.has_error()) return false;
    Descriptor const& file = *opened;
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    ssize_t const first = ::read(file.get(), block.data(), kFirstBytes);
    if (first < 0) return false;
    opens_us.push_back(since(begin) * 1e6);
    auto const reading = Clock::now();
    total.bytes += first;
    while (Clock::now() < until) {
        ssize_t const got = ::read(file.get(), block.data(), block.size());
        if (got <= 0) break;
        total.bytes += got;
    }
    total.seconds += since(reading);
    ++total.files;
    if (total.path.empty()) total.path = path;
    return true;
}

}  // namespace

Result<std::vector<std::string>> files_to_read(std::vector<std::string> const& paths,
                                               std::size_t count_max) {
    std::vector<std::string> files;
    for (std::string const& path : paths) {
        std::error_code error;
        if (fs::is_regular_file(path, error)) {
            files.push_back(path);
            continue;
        }
        if (!fs::is_directory(path, error)) {
            return Error{Errc::not_found, path + ": no such file or folder"};
        }
        auto const options = fs::directory_options::skip_permission_denied;
        for (fs::recursive_directory_iterator at(path, options, error), end; at != end && !error;
             at.increment(error)) {
            if (files.size() >= count_max) break;
            std::error_code ignored;
            if (at->is_regular_file(ignored) && at->file_size(ignored) > 0) {
                files.push_back(at->path().string());
            }
        }
    }
    if (files.empty()) return Error{Errc::not_found, "no file to read in " + paths.front()};
    std::ranges::sort(files);
    files.resize(std::min(files.size(), count_max));
    return files;
}

Result<StorageRead> read_storage(std::vector<std::string> const& files, std::size_t first,
                                 StorageReadOptions const& options) {
    StorageRead total;
    std::vector<double> opens_us;
    std::vector<char> block(kReadBytes);
    auto const until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(options.limit_s));
    int why = ENOENT;
    for (std::size_t index = 0; index < files.size(); ++index) {
        if (Clock::now() >= until || total.bytes >= options.bytes_max) break;
        auto const& path = files[(first + index) % files.size()];
        if (!read_one(path, block, until, total, opens_us)) why = errno;
    }
    if (total.files == 0) {
        return file_error(why, "read", files.empty() ? std::string() : files.front());
    }
    total.open_us = median(std::move(opens_us));
    return total;
}

double memory_copy_bytes_per_s() {
    constexpr std::size_t kBytes = 32 << 20;
    constexpr int kCopies = 4;
    std::vector<char> from(kBytes, 1), to(kBytes, 2);
    std::vector<double> rates;
    for (int copy = 0; copy < kCopies; ++copy) {
        from[static_cast<std::size_t>(copy)] = static_cast<char>(copy);
        auto const begin = Clock::now();
        std::memcpy(to.data(), from.data(), kBytes);
        asm volatile(""
                     :
                     : "r"(to.data())
                     : "memory");  // keeps the compiler from removing the
                                   // read
        rates.push_back(kBytes / since(begin));
    }
    return median(std::move(rates));
}

}  // namespace osora::topology
