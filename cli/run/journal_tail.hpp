// A run's journal as it grows, record by record. The file may not be there yet.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/run_view.hpp"

#include <filesystem>
#include <vector>

namespace osora::cli {

class JournalTail {
public:
    explicit JournalTail(std::filesystem::path file) : file_(std::move(file)) {}

    /// Records that were completed since the last call, at most about 4 MiB of them: call again
    /// until there are none. corrupt: the journal cannot be followed further.
    [[nodiscard]] Result<std::vector<protocol::JournalRecord>> read();

private:
    std::filesystem::path file_;
    Descriptor open_;
    protocol::JournalReader reader_;
};

/// Everything that is known of a run now: its journal, folded. `records` of it is 0 while there is
/// none.
[[nodiscard]] Result<protocol::RunView> read_view(std::filesystem::path const& journal);

}  // namespace osora::cli
