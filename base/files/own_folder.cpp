// Checks every component with lstat, so that it sees links as links.
#include "base/files/own_folder.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/text/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string_view>

namespace osora {
namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // the kernel's limit
constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
constexpr mode_t kNineBits = 0777;

/// In a container that maps only this user's id, files of root belong to "nobody".
bool is_root_unmapped(uid_t uid) {
    constexpr uid_t kOverflow = 65534;  // the kernel's default
    if (uid != kOverflow) return false;
    auto const map = read_file("/proc/self/uid_map", 1 << 16);
    if (map.has_error()) return false;
    bool mapped = false;
    each_line(*map, [&](std::string_view line) {
        auto const words = words_of(line);
        mapped = mapped || (!words.empty() && words[0] == "0");
    });
    return !mapped;
}

bool is_believed(uid_t uid) {
    return uid == ::geteuid() || uid == 0 || is_root_unmapped(uid);
}

/// Whether `gid` has this user's name and no other member: useradd makes such a group for each
/// user, so that a umask of 002 opens nothing.
bool is_own_group(gid_t gid) {
    std::array<char, 1 << 14> names{}, members{};
    passwd user{}, *user_found = nullptr;
    group of{}, *group_found = nullptr;
    if (::getpwuid_r(::geteuid(), &user, names.data(), names.size(), &user_found) != 0)
        return false;
    if (::getgrgid_r(gid, &of, members.data(), members.size(), &group_found) != 0) return false;
    if (user_found == nullptr || group_found == nullptr || user.pw_gid != gid) return false;
    if (std::strcmp(user.pw_name, of.gr_name) != 0) return false;
    for (char** member = of.gr_mem; *member != nullptr; ++member) {
        if (std::strcmp(*member, user.pw_name) != 0) return false;
    }
    return true;
}

/// Who except this user and root may write there; "" for nobody.
std::string other_writer(struct stat const& facts) {
    if (!is_believed(facts.st_uid)) return fmt::format("it belongs to uid {}", facts.st_uid);
    if ((facts.st_mode & S_IWOTH) != 0) return "everybody may write there";
    bool const by_group = (facts.st_mode & S_IWGRP) != 0 && !is_own_group(facts.st_gid);
    return by_group ? fmt::format("group {} may write there", facts.st_gid) : "";
}

Error not_ours(fs::path const& folder, std::string const& why) {
    return invalid(
        fmt::format("{}: {}, so others could change what osora keeps and runs there; "
                    "nearest valid: a folder of your own (chmod go-w, or another "
                    "OSORA_STATE_DIR)",
                    folder.string(), why));
}

Error parent_not_ours(fs::path const& parent, fs::path const& folder, std::string const& why) {
    return invalid(
        fmt::format("{}: {}, so others could replace {}; "
                    "nearest valid: chmod go-w or chmod +t there, another "
                    "OSORA_STATE_DIR, or OSORA_TRUST_PARENTS=1 where they are trusted",
                    parent.string(), why, folder.string()));
}

/// Follows `folder` component by component; missing components at its end stay unchanged.
class Way {
public:
    Way(fs::path const& folder, Parents parents)
        : folder_(fs::absolute(folder).lexically_normal()), parents_(parents) {
        push(folder_);
    }

    /// The real path; every component on the way has been checked.
    Result<fs::path> follow() {
        while (!rest_.empty()) {
            auto const name = std::move(rest_.front());
            rest_.pop_front();
            if (name == "..") real_ = real_.parent_path();
            if (name.empty() || name == "." || name == "..") continue;
            OSORA_TRY_VOID(check_parent());
            OSORA_TRY_VOID(enter(name));
        }
        return real_;
    }

private:
    void push(fs::path const& path) {
        std::deque<std::string> names;
        for (auto const& each : path.relative_path()) names.push_back(each.string());
        rest_.insert(rest_.begin(), names.begin(), names.end());
        if (path.is_absolute()) real_ = "/";
    }

    Result<void> check_parent() const {
        struct stat facts {};
        if (parents_ == Parents::believed) return {};
        if (::lstat(real_.c_str(), &facts) != 0) return {};  // missing: it will be created
        if ((facts.st_mode & S_ISVTX) != 0 && is_believed(facts.st_uid)) return {};
        auto const why = other_writer(facts);
        return why.empty() ? Result<void>() : parent_not_ours(real_, folder_, why);
    }

    Result<void> enter(std::string const& name) {
        auto const next = real_ / name;
        struct stat facts {};
        bool const there = ::lstat(next.c_str(), &facts) == 0;
        if (!there && errno != ENOENT) return file_error(errno, "look at", next);
        if (!there || !S_ISLNK(facts.st_mode)) {
            real_ = next;
            return {};
        }
        if (!is_believed(facts.st_uid)) {
            return not_ours(next, fmt::format("it is a link of uid {}", facts.st_uid));
        }
        std::error_code error;
        auto const target = fs::read_symlink(next, error);
        if (error || ++links_ > kLinksMax) return file_error(ELOOP, "follow", folder_);
        push(target);
        return {};
    }

    fs::path folder_;
    Parents parents_;
    std::deque<std::string> rest_;
    fs::path real_ = "/";
    int links_ = 0;
};

Result<void> check_itself(fs::path const& real) {
    struct stat facts {};
    if (::lstat(real.c_str(), &facts) != 0) return file_error(errno, "look at", real);
    if (!S_ISDIR(facts.st_mode)) return file_error(ENOTDIR, "enter", real);
    auto const why = other_writer(facts);
    return why.empty() ? Result<void>() : not_ours(real, why);
}

/// mkdir -p, each with 0700.
Result<bool> make_missing(fs::path const& folder) {
    struct stat facts {};
    if (::lstat(folder.c_str(), &facts) == 0) return false;
    if (folder.has_parent_path() && folder != folder.parent_path()) {
        OSORA_TRY_VOID(make_missing(folder.parent_path()));
    }
    bool const made = ::mkdir(folder.c_str(), S_IRWXU) == 0;
    if (!made && errno == EEXIST) return false;  // another process created it just now
    // The umask may have removed the owner's bits too.
    if (made && ::chmod(folder.c_str(), S_IRWXU) == 0) return true;
    return file_error(errno, "create", folder);
}

}  // namespace

Result<void> check_own_folder(fs::path const& folder, Parents parents) {
    OSORA_TRY(auto const real, Way(folder, parents).follow());
    return check_itself(real);
}

Result<OwnFolder> make_own_folder(fs::path const& folder, Parents parents) {
    OSORA_TRY(auto const real, Way(folder, parents).follow());
    OSORA_TRY(bool const made, make_missing(real));
    Descriptor const opened(::open(real.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.is_open()) return file_error(errno, "enter", real);
    struct stat facts {};
    if (::fstat(opened.get(), &facts) != 0) return file_error(errno, "look at", real);
    OwnFolder own;
    if (facts.st_uid != ::geteuid()) {
        OSORA_TRY_VOID(check_itself(real));
        return own;
    }
    own.old_mode = static_cast<int>(facts.st_mode & kNineBits);
    mode_t const wanted = made ? S_IRWXU : (facts.st_mode & ~kOfOthers);
    if ((facts.st_mode & kNineBits) == (wanted & kNineBits)) return own;
    if (::fchmod(opened.get(), wanted & 07777) != 0) return file_error(errno, "chmod 700", real);
    own.mended = !made;
    return own;
}

}  // namespace osora
