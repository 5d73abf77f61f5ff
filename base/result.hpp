// Result<T>: how expected failures travel. Bugs use OSORA_CHECK (check.hpp); library exceptions
// stop at the boundary that calls the library.
#pragma once

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace osora {

/// A new code is added only when some caller branches on it; everything else goes into the message.
enum class Errc {
    invalid_input,
    not_divisible,
    not_found,
    out_of_memory,
    out_of_space,  // a full disk or quota: keep what is on disk
    unreachable,
    timed_out,
    cancelled,
    corrupt,  // osora wrote the data, and it can no longer be read back
    busy,     // another process holds it: a lock, a database
    io
};

struct Error {
    Errc code;
    std::string message;  // "what on which object: why", < 80 characters a level, no full stop

    /// Prefixes the caller's context: "run 17: start agent n3: connect: timed out".
    [[nodiscard]] Error in(std::string_view context) && {
        message.insert(0, std::string(context) + ": ");
        return std::move(*this);
    }
};

[[nodiscard]] inline Error invalid(std::string message) {
    return {Errc::invalid_input, std::move(message)};
}

template <class T>
using Result = boost::system::result<T, Error>;

/// Called by Result::value() on an error: reading a value that is not there is a bug of the caller.
[[noreturn]] inline void throw_exception_from_error(Error const& error,
                                                    boost::source_location const&) {
    throw std::logic_error("value() on an error: " + error.message);
}

}  // namespace osora

#define OSORA_CONCAT_(a, b) a##b
#define OSORA_CONCAT(a, b) OSORA_CONCAT_(a, b)
#define OSORA_TRY_(tmp, declaration, ...)               \
    auto tmp = (__VA_ARGS__);                           \
    if (tmp.has_error()) return std::move(tmp).error(); \
    declaration = std::move(*tmp)

/// For Result<void>: returns its error from this function, or continues.
#define OSORA_TRY_VOID_(tmp, ...) \
    if (auto tmp = (__VA_ARGS__); tmp.has_error()) return std::move(tmp).error()
#define OSORA_TRY_VOID(...) OSORA_TRY_VOID_(OSORA_CONCAT(try_, __LINE__), __VA_ARGS__)

/// OSORA_TRY(auto x, f()): x = the value of f(), or return its error from this function.
#define OSORA_TRY(declaration, ...) \
    OSORA_TRY_(OSORA_CONCAT(try_, __LINE__), declaration, __VA_ARGS__)
