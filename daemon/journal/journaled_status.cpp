#include "daemon/journal/journaled_status.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/run_directory.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace osora::daemon {

Result<protocol::RunStatus> read_run_status(std::filesystem::path const& run_dir) {
    protocol::RunStatus status;
    auto const path = protocol::RunPaths{run_dir}.journal();
    auto const file = open_regular(path);
    if (file.has_error() && file.error().code == Errc::not_found) return status;
    if (file.has_error()) return file.error();
    protocol::JournalReader reader;
    std::string buffer(1 << 20, '\0');
    while (true) {
        ssize_t const got = ::read(file->get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", path);
        if (got == 0) return status;
        OSORA_TRY(auto const records,
                  reader.feed(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
        for (auto const& record : records) fold(status, record.event);
    }
}

}  // namespace osora::daemon
