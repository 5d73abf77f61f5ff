// OSORA_CHECK: assertions that stay on. A failed check is a bug: the process stops, and its
// successor replays the event log.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace osora::detail {

template <class A, class B>
[[noreturn]] void check_failed(char const* where, char const* expression, A const& left,
                               B const& right) {
    std::ostringstream text;
    text << where << ": check failed: " << expression << " (" << left << " vs " << right << ")\n";
    std::fputs(text.str().c_str(), stderr);
    std::abort();
}

}  // namespace osora::detail

#define OSORA_STRING_(x) #x
#define OSORA_STRING(x) OSORA_STRING_(x)
#define OSORA_CHECK_OP_(op, a, b)                                                                 \
    do {                                                                                          \
        auto const& check_a = (a);                                                                \
        auto const& check_b = (b);                                                                \
        if (!(check_a op check_b))                                                                \
            ::osora::detail::check_failed(__FILE__ ":" OSORA_STRING(__LINE__), #a " " #op " " #b, \
                                          check_a, check_b);                                      \
    } while (false)

#define OSORA_CHECK_EQ(a, b) OSORA_CHECK_OP_(==, a, b)
#define OSORA_CHECK_LT(a, b) OSORA_CHECK_OP_(<, a, b)
#define OSORA_CHECK_LE(a, b) OSORA_CHECK_OP_(<=, a, b)

/// For conditions that are not comparisons; `...` is an optional sentence for the message.
#define OSORA_CHECK(cond, ...)                                                                 \
    do {                                                                                       \
        if (!(cond))                                                                           \
            ::osora::detail::check_failed(__FILE__ ":" OSORA_STRING(__LINE__), #cond, "false", \
                                          "" __VA_ARGS__);                                     \
    } while (false)
