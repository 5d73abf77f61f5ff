#include "cli/text/fact_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace osora::cli {

std::string plain_number(std::string const& fact) {
    bool const digits = fact.find_first_not_of("0123456789.E+-") == std::string::npos;
    if (!digits || fact.find('E') == std::string::npos) return fact;
    double number = 0;
    auto const* const end = fact.data() + fact.size();
    auto const parsed = std::from_chars(fact.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end ? fmt::format("{}", number) : fact;
}

}  // namespace osora::cli
