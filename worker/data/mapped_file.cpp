#include "worker/data/mapped_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

namespace osora::worker {
namespace {

/// A line of /proc/self/maps: "7f12a000-7f12b000 r--p 00000000 08:01 1234   /cache/0.safetensors".
/// Given a character at a time; of a line only the range and the path are kept.
class MapsLine {
public:
    explicit MapsLine(std::uintptr_t address) : address_(address) {}

    /// Whether a line has ended that has the address.
    [[nodiscard]] bool add(char c, FilePath& path) {
        if (c == '\n') {
            bool const found = is_in_range() && path_bytes_ > 0;
            if (!found) range_bytes_ = path_bytes_ = 0;
            in_range_ = true;
            return found;
        }
        if (c == ' ') in_range_ = false;
        if (in_range_ && range_bytes_ < range_.size()) range_[range_bytes_++] = c;
        bool const in_path = path_bytes_ > 0 || (last_ == ' ' && c == '/');
        last_ = c;
        if (in_path && path_bytes_ + 1 < path.size()) path[path_bytes_++] = c;
        return false;
    }
    [[nodiscard]] std::size_t path_bytes() const { return path_bytes_; }

private:
    [[nodiscard]] bool is_in_range() const {
        std::uintptr_t first = 0, end = 0;
        char const* const stop = range_.data() + range_bytes_;
        auto const start = std::from_chars(range_.data(), stop, first, 16);
        if (start.ec != std::errc() || start.ptr == stop || *start.ptr != '-') return false;
        auto const last = std::from_chars(start.ptr + 1, stop, end, 16);
        return last.ec == std::errc() && first <= address_ && address_ < end;
    }

    std::uintptr_t address_;
    std::array<char, 40> range_{};
    std::size_t range_bytes_ = 0, path_bytes_ = 0;
    bool in_range_ = true;
    char last_ = '\n';
};

}  // namespace

std::string_view mapped_file_at(void const* address, FilePath& path) {
    int const fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    MapsLine line(reinterpret_cast<std::uintptr_t>(address));
    std::array<char, 1024> block{};
    bool found = false;
    while (!found) {
        ssize_t const got = ::read(fd, block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        for (ssize_t i = 0; i < got && !found; ++i)
            found = line.add(block[static_cast<std::size_t>(i)], path);
    }
    ::close(fd);
    if (!found) return {};
    path[line.path_bytes()] = '\0';
    return {path.data(), line.path_bytes()};
}

}  // namespace osora::worker
