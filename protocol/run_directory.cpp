#include "protocol/run_directory.hpp"

namespace osora::protocol {
namespace {

constexpr std::size_t kUuidDigits = 8;
constexpr std::string_view kHexadecimal = "0123456789abcdef";

}  // namespace

std::string imported_folder_name(std::string_view run, std::string_view uuid) {
    return std::string(run) + "." + std::string(uuid.substr(0, kUuidDigits));
}

std::string_view run_of_imported_folder(std::string_view folder_name) {
    auto const dot = folder_name.rfind('.');
    if (dot == std::string_view::npos || folder_name.size() - dot - 1 != kUuidDigits) return {};
    auto const digits = folder_name.substr(dot + 1);
    bool const hexadecimal = digits.find_first_not_of(kHexadecimal) == std::string_view::npos;
    return hexadecimal ? folder_name.substr(0, dot) : std::string_view();
}

}  // namespace osora::protocol
