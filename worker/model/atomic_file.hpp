// A file that is written piece by piece beside its target and takes its place only when complete
// and synced; otherwise it leaves nothing. base/files.hpp does the same for content in memory.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string_view>

namespace osora::worker {

class AtomicFile {
public:
    [[nodiscard]] static Result<AtomicFile> create(std::filesystem::path const& path);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();  // without commit(): removes the temporary file

    [[nodiscard]] Result<void> write(std::string_view bytes);
    /// Syncs, renames over the target and syncs the folder.
    [[nodiscard]] Result<void> commit();

private:
    AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd);
    std::filesystem::path path_, temporary_;
    int fd_;
};

}  // namespace osora::worker
