// A file that only grows at its end: the interface below the journal, so that tests can fail its
// k-th operation. Errors carry the path; a full disk or quota is Errc::out_of_space.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace osora::daemon {

class AppendFile {
public:
    virtual ~AppendFile() = default;

    [[nodiscard]] virtual std::uint64_t size() const = 0;
    /// At most `bytes` bytes from `offset`; fewer at the end.
    [[nodiscard]] virtual Result<std::string> read(std::uint64_t offset, std::size_t bytes) = 0;
    /// After an error an unknown part of `bytes` is at the end.
    [[nodiscard]] virtual Result<void> append(std::string_view bytes) = 0;
    [[nodiscard]] virtual Result<void> truncate(std::uint64_t size) = 0;
    /// Makes appended bytes durable. May be called from another thread.
    [[nodiscard]] virtual Result<void> sync() = 0;
    /// Reserves disk space so that the file can certainly grow to `size`; false: this file system
    /// cannot promise it.
    [[nodiscard]] virtual Result<bool> reserve(std::uint64_t size) = 0;
};

/// Opens `path` for reading and appending, and creates it (mode 0600, durably) when there is none.
[[nodiscard]] Result<std::unique_ptr<AppendFile>> open_append_file(
    std::filesystem::path const& path);

}  // namespace osora::daemon
