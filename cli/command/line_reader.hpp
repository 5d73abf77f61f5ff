// Lines of a descriptor, of bounded length, as they arrive: the reader of a pipe can see whether it
// would block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace osora::cli {

struct InputLine {
    std::string text;         // without the line end; empty when it is not whole
    std::int64_t number = 0;  // 1-based
    bool whole = true;        // false: longer than the limit, and skipped to its end
};

class LineReader {
public:
    /// The caller keeps ownership of the descriptor.
    LineReader(int descriptor, std::size_t limit_bytes)
        : descriptor_(descriptor), limit_(limit_bytes) {}

    /// Whether next() can return a line without reading.
    [[nodiscard]] bool has_line() const;
    /// The next line, including a last one without a line end; nullopt at the end or on an error.
    [[nodiscard]] std::optional<InputLine> next();

private:
    /// False at the end.
    bool fill();

    int descriptor_;
    std::size_t limit_;
    std::string buffer_;
    std::size_t at_ = 0;  // position of the first byte that is not returned yet
    std::int64_t number_ = 0;
    bool ended_ = false;
};

}  // namespace osora::cli
