#include "protocol/run_directory.hpp"

#include <algorithm>

namespace osora::protocol {
namespace {

constexpr std::size_t kUuidDigits = 8;
constexpr std::string_view kHexadecimal = "0123456789abcdef";

bool is_digit(char each) {
    return each >= '0' && each <= '9';
}

bool is_letter(char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}

/// As run.name of a run file (plan/config/read_value.cpp).
bool is_run_name(std::string_view name) {
    constexpr std::size_t kNameMax = 64;
    auto const fits = [](char each) {
        return is_letter(each) || is_digit(each) || each == '.' || each == '_' || each == '-';
    };
    return !name.empty() && name.size() <= kNameMax && is_letter(name[0]) &&
           std::ranges::all_of(name, fits);
}

}  // namespace

bool is_run_folder(std::string_view name) {
    constexpr std::size_t kDigitsMin = 4;
    auto const dash = name.rfind('-');
    if (dash == std::string_view::npos) return false;
    auto const digits = name.substr(dash + 1);
    return is_run_name(name.substr(0, dash)) && digits.size() >= kDigitsMin &&
           std::ranges::all_of(digits, is_digit);
}

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
