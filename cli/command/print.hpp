// Output of the commands for people; names, reasons and log lines in it come from outside.
#pragma once

#include "base/result.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace osora::cli {

/// Writes screen_text(text) (base/text/printable.hpp).
void print_text(std::FILE* stream, std::string_view text);

template <class... Values>
void print(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
    print_text(stream, fmt::format(format, std::forward<Values>(values)...));
}
template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
    print_text(stdout, fmt::format(format, std::forward<Values>(values)...));
}

/// Writes what is buffered. Errors: io if that, or an earlier write, failed ("no space left"); a
/// pipe whose reader has gone is none.
[[nodiscard]] Result<void> flush_output(std::FILE* stream);

}  // namespace osora::cli
