// Whose folder is this? What stands in a folder may be believed, started or written over only where
// nobody but this user and root can change it: state folder, run directories, folders of sockets
// and profiles.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>

namespace osora {

/// Of the folders that lead to one: others who may write there could put another in its place.
enum class Parents {
    checked,  // as the folder itself, or with the sticky bit
    believed  // the user trusts whoever may write there
};

/// Nothing when the owner is this user or root and nobody else may write; links on the way must
/// belong to one of the two. A group that holds only this user is nobody else. not_found: it is not
/// there; invalid_input says whose it is, or who else may write, and what to do.
[[nodiscard]] Result<void> check_own_folder(std::filesystem::path const& folder,
                                            Parents parents = Parents::checked);

struct OwnFolder {
    bool mended = false;  // it was there, and others could enter it
    int old_mode = 0;     // of its 9 bits; as it was
};

/// Makes the folder and what is missing on the way to it, with mode 0700 whatever the umask; one
/// that is there and this user's is closed to others. Errors as above, before anything is made.
[[nodiscard]] Result<OwnFolder> make_own_folder(std::filesystem::path const& folder,
                                                Parents parents = Parents::checked);

}  // namespace osora
