// The logs of the ranks of one attempt, read side by side and folded while they grow.
#pragma once

#include "base/files/descriptor.hpp"
#include "cli/run/follow/fold_lines.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace osora::cli {

/// The last `count` lines of a log; none when there is no such file.
[[nodiscard]] std::vector<std::string> last_lines(std::filesystem::path const& file,
                                                  std::size_t count);
/// The last `count` lines of a text.
[[nodiscard]] std::vector<std::string> last_lines_of(std::string_view text, std::size_t count);

using ShowLine = std::function<void(FoldedLine const& line)>;

/// Attempts that have a log folder, ascending.
[[nodiscard]] std::vector<int> logged_attempts(protocol::RunPaths const& paths);

/// Ranks without a line in the output, ascending.
struct SilentRanks {
    std::vector<int> empty, missing;  // whose file is empty; which have none
};
/// "rank 1 has written nothing (RUN_DIR/logs/0/1.log)", one line for all of them; "": there is
/// none. Pure.
[[nodiscard]] std::string silent_ranks_text(protocol::RunPaths const& paths, int attempt,
                                            SilentRanks const& silent);

class LogFiles {
public:
    /// The files of `ranks`, which may not exist yet.
    LogFiles(protocol::RunPaths const& paths, int attempt, std::vector<int> ranks);

    /// Shows what has arrived. `last`: nothing more will come, so a line without an end is
    /// complete.
    void drain(bool last, ShowLine const& show);
    /// Whether any file existed yet.
    [[nodiscard]] bool any_open() const;
    /// Ranks that nothing was read of so far.
    [[nodiscard]] SilentRanks silent() const;

private:
    struct Source {
        int rank = 0;
        std::filesystem::path file;
        Descriptor open;
        std::string partial;  // of a line whose end is missing
        bool dry = false;     // nothing more to read for now
        bool silent = true;   // nothing was read so far
        bool cut = false;     // what comes next is the rest of a line that was dropped
    };
    void fill(std::size_t index, bool last);
    void pass_hole(std::size_t index, Source& source);
    static void append(Source& source, std::string_view bytes);
    void take_lines(std::size_t index, Source& source);

    std::vector<Source> sources_;
    LineFolder folder_;
};

}  // namespace osora::cli
