// Files that survive a crash: atomic writes, directory syncs, and the type of a file system. Errors
// carry the path; a full disk or quota is Errc::out_of_space.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/files/new_file.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace osora {

/// The whole file; invalid_input when it is larger than `limit_bytes`, or not a regular file.
/// /dev/stdin and /dev/fd/N are read to their end.
[[nodiscard]] Result<std::string> read_file(std::filesystem::path const& path,
                                            std::int64_t limit_bytes = std::int64_t{1} << 30);

/// Opens a file that grows or is locked, and creates it, private to its owner, when it is missing.
/// `flags` are added: O_RDWR, O_APPEND, O_TRUNC... A symbolic link is an error: another user could
/// have put it there.
[[nodiscard]] Result<Descriptor> open_private(std::filesystem::path const& path, int flags);

/// All steps of base/files/new_file.hpp at once: readers see the old or the new content, never a
/// part. On error `path` is unchanged and no temporary file remains. A stream (/dev/stdout,
/// /dev/fd/N) or a character device is written to.
[[nodiscard]] Result<void> write_file_atomic(std::filesystem::path const& path,
                                             std::string_view content, int mode = 0644);

/// The folder that contains `path`; "." for a bare name.
[[nodiscard]] std::filesystem::path folder_of(std::filesystem::path const& path);

/// Makes a rename or an unlink in `directory` durable.
[[nodiscard]] Result<void> sync_directory(std::filesystem::path const& directory);

/// "ext4", "tmpfs", "nfs"...; "unknown" for a type that is not in the table.
[[nodiscard]] Result<std::string> file_system_type(std::filesystem::path const& path);

/// Whether locks and mmap of `path` cross machines: nfs, lustre, gpfs, beegfs, cephfs, smb, afs,
/// 9p, fuse.
[[nodiscard]] Result<bool> is_network_file_system(std::filesystem::path const& path);

/// Free bytes for this user on the file system of `path`.
[[nodiscard]] Result<std::int64_t> free_bytes(std::filesystem::path const& path);

/// The Error for errno value `error` of the operation `what` on `path`.
[[nodiscard]] Error file_error(int error, std::string_view what, std::filesystem::path const& path);

}  // namespace osora
