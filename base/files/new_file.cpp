#include "base/files/new_file.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/files/write_whole.hpp"
#include "base/ids.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace osora {
namespace {

constexpr int kOthers = 077;

/// "report.html.1f0c....tmp"; a long name is shortened, since a name has at most 255 bytes.
std::filesystem::path name_beside(std::filesystem::path const& target) {
    constexpr std::size_t kNameKept = 200;
    auto const name = target.filename().string().substr(0, kNameKept);
    return target.parent_path() / fmt::format("{}.{}.tmp", name, make_suffix());
}

/// A device, a pipe or a socket would be replaced by the file, for all programs of the machine.
Result<void> check_replaceable(std::filesystem::path const& target) {
    struct stat facts {};
    bool const exists = ::lstat(target.c_str(), &facts) == 0;
    bool const fine = S_ISREG(facts.st_mode) || S_ISLNK(facts.st_mode) || S_ISDIR(facts.st_mode);
    if (is_stream_path(target) || (exists && !fine)) {
        return Error{
            Errc::invalid_input,
            target.string() + ": write: not a regular file, which a new one could replace"};
    }
    return {};
}

}  // namespace

NewFile::NewFile(std::filesystem::path target, std::filesystem::path temporary, Descriptor file)
    : target_(std::move(target)), temporary_(std::move(temporary)), file_(std::move(file)) {}

NewFile::NewFile(NewFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

NewFile::~NewFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<NewFile> NewFile::create(std::filesystem::path target, int mode) {
    OSORA_TRY_VOID(check_replaceable(target));
    auto temporary = name_beside(target);
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           static_cast<mode_t>(mode)));
    if (!file.is_open()) return file_error(errno, "write", target);
    NewFile made(std::move(target), std::move(temporary), std::move(file));
    bool const is_private = (mode & kOthers) == 0;
    if (is_private && ::fchmod(made.descriptor(), static_cast<mode_t>(mode)) != 0) {
        return file_error(errno, "set the mode of", made.target_);
    }
    return made;
}

Result<void> NewFile::write(std::string_view bytes) {
    return write_whole(file_.get(), bytes, target_);
}

Result<void> NewFile::sync() const {
    if (::fsync(file_.get()) != 0) return file_error(errno, "sync", target_);
    return {};
}

Result<void> NewFile::replace() {
    OSORA_TRY_VOID(sync());
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
        return file_error(errno, "write", target_);
    }
    temporary_.clear();
    if (::close(file_.release()) != 0) return file_error(errno, "close", target_);
    return sync_directory(folder_of(target_));
}

Result<void> NewFile::publish() {
    OSORA_TRY_VOID(sync());
    if (::link(temporary_.c_str(), target_.c_str()) != 0) {
        if (errno == EEXIST) return Error{Errc::busy, target_.string() + ": exists"};
        return file_error(errno, "name", target_);
    }
    return sync_directory(folder_of(target_));
}

}  // namespace osora
