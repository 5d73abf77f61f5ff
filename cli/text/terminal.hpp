// The kind of terminal that stdout is. Colour only emphasises what the words already say.
#pragma once

#include "base/environment.hpp"
#include "base/text/printable.hpp"

#include <string>
#include <string_view>

namespace osora::cli {

/// Width of pages and of lines in a pipe.
constexpr int kColumns = 80;
/// Column where text beside a label begins.
constexpr int kLabelColumns = 9;

enum class Style { plain, bold, dim, good, warning, bad };

struct Terminal {
    bool interactive = false;  // a terminal with cursor movement
    bool colour = false;
    int columns = 80;
    int rows = 24;

    /// `text` in a style if there is colour, else `text`.
    [[nodiscard]] std::string styled(Style style, std::string_view text) const;
};

/// Checks descriptor `fd`, TERM and NO_COLOR.
[[nodiscard]] Terminal terminal_of(int fd, Environment const& environment);

/// Columns of the terminal at `fd` now; 80 when unknown.
[[nodiscard]] int columns_of(int fd);
/// Rows; 24 when unknown.
[[nodiscard]] int rows_of(int fd);

/// Columns that UTF-8 text takes: code points, without the colour sequences of styled().
[[nodiscard]] int display_width(std::string_view text);

/// At most `columns` of plain text (no sequences), cut at a code point.
[[nodiscard]] std::string clipped(std::string_view text, int columns);

/// `text` wrapped to `columns` with `indent` spaces before each line and '\n' after each.
[[nodiscard]] std::string filled(std::string_view text, int indent, int columns);

/// `label`, and `body` as printable text wrapped beside it, from column `indent` on.
[[nodiscard]] std::string block(std::string_view label, std::string_view body,
                                int indent = kLabelColumns);

}  // namespace osora::cli
