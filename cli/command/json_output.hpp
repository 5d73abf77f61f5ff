// JSON objects for scripts, one per line.
#pragma once

#include "protocol/json.hpp"

#include <string>
#include <string_view>

namespace osora::cli {

/// {"schema": "osora.NAME/1", ...members} and a newline.
[[nodiscard]] std::string json_text(std::string_view schema,
                                    protocol::json::object const& members);

/// The same on stdout, flushed.
void print_json(std::string_view schema, protocol::json::object const& members);

}  // namespace osora::cli
