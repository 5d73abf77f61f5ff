#include "base/files/part_of_file.hpp"

#include <system_error>

namespace osora {

PartOfFile part_of_file(std::filesystem::path const& path) {
    std::error_code failed;
    std::string const text = path.string();
    auto const sign = text.rfind('#');
    bool const whole = sign == std::string::npos || text.find('/', sign) != std::string::npos ||
                       std::filesystem::exists(path, failed);
    if (whole) return {path, ""};
    return {text.substr(0, sign), text.substr(sign + 1)};
}

}  // namespace osora
