// A run's journal, read record by record as it grows. The file may not exist yet.
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

    /// Records completed since the last call, at most about 4 MiB: call again until there are none.
    /// corrupt: the journal cannot be followed further.
    [[nodiscard]] Result<std::vector<protocol::JournalRecord>> read();

private:
    std::filesystem::path file_;
    Descriptor open_;
    protocol::JournalReader reader_;
};

/// What is known of a run now: its journal, folded. Its `records` is 0 if there is no journal.
[[nodiscard]] Result<protocol::RunView> read_view(std::filesystem::path const& journal);

}  // namespace osora::cli
