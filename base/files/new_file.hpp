// The only code that writes new files: a new file next to its target gets the target's name when it
// is complete and on the disk. Otherwise it is removed. Its name is random and must not exist yet,
// so neither a link of another user nor a left-over file decides where the bytes go or who may read
// them. Errors name the target; a full disk or quota is Errc::out_of_space.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <string_view>

namespace osora {

/// The mode of files that only their owner may use.
constexpr int kPrivate = 0600;

class NewFile {
public:
    /// `mode`: used as given when it grants nothing to others; else reduced by the umask. Refuses
    /// (invalid_input) a target that is a device, a pipe, a socket or a stream.
    [[nodiscard]] static Result<NewFile> create(std::filesystem::path target, int mode = 0644);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();  // removes a file that did not get its name

    [[nodiscard]] Result<void> write(std::string_view bytes);
    /// Syncs, renames over the target and syncs the folder: readers see the old or the new content.
    [[nodiscard]] Result<void> replace();
    /// The same for a name that must not exist. busy: it does.
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
