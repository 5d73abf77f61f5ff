// The schema comes first, so that a reader can classify a line early.
#include "cli/command/json_output.hpp"

#include "base/text/printable.hpp"
#include "cli/command/print.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace osora::cli {

std::string json_text(std::string_view schema, protocol::json::object const& members) {
    protocol::json::object object{{"schema", fmt::format("osora.{}/1", schema)}};
    for (auto const& [key, value] : members) object[key] = value;
    return printable_json(protocol::json::serialize(object)) + "\n";
}

void print_json(std::string_view schema, protocol::json::object const& members) {
    cli::print("{}", json_text(schema, members));
    std::fflush(stdout);
}

}  // namespace osora::cli
