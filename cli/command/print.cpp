#include "cli/command/print.hpp"

#include "base/text/printable.hpp"

namespace osora::cli {

void print_text(std::FILE* stream, std::string_view text) {
    auto const screened = screen_text(text);
    std::fwrite(screened.data(), 1, screened.size(), stream);
}

}  // namespace osora::cli
