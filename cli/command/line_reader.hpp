// Lines of a descriptor, of bounded length, as they arrive: a pipe's reader knows when it would
// wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace osora::cli {

struct InputLine {
    std::string text;         // without its end; empty when it is not whole
    std::int64_t number = 0;  // 1-based
    bool whole = true;        // false: longer than the limit, and skipped to its end
};

class LineReader {
public:
    /// The descriptor stays the caller's.
    LineReader(int descriptor, std::size_t limit_bytes)
        : descriptor_(descriptor), limit_(limit_bytes) {}

    /// Whether next() has a line without reading.
    [[nodiscard]] bool has_line() const;
    /// The next line, the last one also without a line end; nullopt at the end or on an error.
    [[nodiscard]] std::optional<InputLine> next();

private:
    /// False at the end.
    bool fill();

    int descriptor_;
    std::size_t limit_;
    std::string buffer_;
    std::size_t at_ = 0;  // of the first byte that is not taken
    std::int64_t number_ = 0;
    bool ended_ = false;
};

}  // namespace osora::cli
