// Who controls a folder? Its content may be trusted, executed or overwritten only if nobody except
// this user and root can change it: state folder, run directories, folders of sockets and profiles.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>

namespace osora {

/// How to treat the parent folders: users who may write there could replace the folder.
enum class Parents {
    checked,  // like the folder itself, or with the sticky bit
    believed  // the user trusts everyone who may write there
};

/// Succeeds when the owner is this user or root and nobody else may write; links on the way must
/// belong to one of the two. A group that contains only this user does not count. not_found: it
/// does not exist; invalid_input says who owns it or who else may write, and what to do.
[[nodiscard]] Result<void> check_own_folder(std::filesystem::path const& folder,
                                            Parents parents = Parents::checked);

struct OwnFolder {
    bool mended = false;  // it existed, and other users could enter it
    int old_mode = 0;     // its 9 permission bits before
};

/// Creates the folder and its missing parents, with mode 0700 whatever the umask; an existing
/// folder of this user is closed to others. Errors as above, before anything is created.
[[nodiscard]] Result<OwnFolder> make_own_folder(std::filesystem::path const& folder,
                                                Parents parents = Parents::checked);

}  // namespace osora
