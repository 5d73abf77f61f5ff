#include "cli/command/print.hpp"

#include "base/text/printable.hpp"

#include <poll.h>

#include <cerrno>
#include <system_error>

namespace osora::cli {
namespace {

bool reader_is_gone(std::FILE* stream) {
    pollfd end{::fileno(stream), POLLOUT, 0};
    return ::poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

}  // namespace

void print_text(std::FILE* stream, std::string_view text) {
    auto const screened = screen_text(text);
    std::fwrite(screened.data(), 1, screened.size(), stream);
}

Result<void> flush_output(std::FILE* stream) {
    bool const failed_before = std::ferror(stream) != 0;
    bool const flushed = std::fflush(stream) == 0;
    int const error = flushed ? 0 : errno;
    if (flushed && !failed_before) return {};
    if (error == EPIPE || reader_is_gone(stream)) return {};
    // The reason of an earlier failure is lost by now.
    return Error{Errc::io, flushed ? std::string("some output could not be written")
                                   : std::generic_category().message(error)};
}

}  // namespace osora::cli
