#include "cli/data/new_file_option.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace osora::cli {

Result<void> check_new_file(std::string_view option, std::string const& file) {
    if (file.empty()) return invalid(fmt::format("{}: give the name of a file", option));
    std::error_code ignored;
    auto const type = std::filesystem::status(file, ignored).type();
    auto const folder = std::filesystem::absolute(file, ignored).parent_path();
    std::string fault;
    if (type == std::filesystem::file_type::directory) {
        fault = "is a folder; give the name of a file";
    } else if (std::filesystem::exists(std::filesystem::file_status(type)) &&
               type != std::filesystem::file_type::regular) {
        fault = "is no regular file, and would be replaced by one; give another name";
    } else if (!std::filesystem::is_directory(folder, ignored)) {
        fault = "there is no folder " + folder.string();
    }
    return fault.empty() ? Result<void>() : invalid(fmt::format("{} {}: {}", option, file, fault));
}

}  // namespace osora::cli
