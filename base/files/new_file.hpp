// The one writer of files: a new file beside its target that takes the target's name when it is
// whole and on the disk. Without that it leaves nothing. Its name is random and must not exist yet,
// so neither a link that somebody put there nor a left-over decides where the bytes go or who may
// read them. Errors name the target; a full disk or quota is Errc::out_of_space.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <string_view>

namespace osora {

/// The mode of files for nobody but their owner.
constexpr int kPrivate = 0600;

class NewFile {
public:
    /// `mode`: as told when it gives nothing to others; else less the umask.
    [[nodiscard]] static Result<NewFile> create(std::filesystem::path target, int mode = 0644);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();  // removes what was not given its name

    [[nodiscard]] Result<void> write(std::string_view bytes);
    /// Syncs, renames over the target and syncs the folder: readers see the old or the new content.
    [[nodiscard]] Result<void> replace();
    /// The same for a name that must be free. busy: it is not.
    [[nodiscard]] Result<void> publish();

    /// For libraries that open a file by its name.
    [[nodiscard]] std::filesystem::path const& temporary() const { return temporary_; }
    [[nodiscard]] int descriptor() const { return file_.get(); }

private:
    NewFile(std::filesystem::path target, std::filesystem::path temporary, Descriptor file);
    [[nodiscard]] Result<void> sync() const;
    std::filesystem::path target_, temporary_;
    Descriptor file_;
};

}  // namespace osora
