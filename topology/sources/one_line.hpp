// Private to the parsers: messages that quote the content of a file.
#pragma once

#include "base/result.hpp"
#include "base/text/printable.hpp"

#include <fmt/format.h>

#include <string_view>

namespace osora::topology {

/// `error` on one line, without control characters.
[[nodiscard]] inline Error one_line(Error error) {
    error.message = printable(error.message);
    return error;
}

[[nodiscard]] inline Error bad_line(int line, std::string_view why) {
    return {Errc::invalid_input, fmt::format("line {}: {}", line, why)};
}

}  // namespace osora::topology
