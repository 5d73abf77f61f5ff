// Tries an expression only where a match may start: trying each place costs several times as much.
// Private to sources (includes Boost.Regex).
#pragma once

#include <boost/regex.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace osora::plan {

struct Anywhere {
    bool operator()(std::size_t) const { return true; }
};

/// The first match of `expression` that starts with one of `starts` ("": none) at a place that
/// `accepts`. Look-behinds of the expression are not part of `starts`.
template <class Accepts = Anywhere>
bool search_at(std::string_view text, std::array<std::string_view, 2> const& starts,
               boost::regex const& expression, boost::cmatch& found, Accepts accepts = {}) {
    char const* const end = text.data() + text.size();
    auto const next = [&](std::string_view start, std::size_t from) {
        return start.empty() ? text.npos : text.find(start, from);
    };
    std::array<std::size_t, 2> places{next(starts[0], 0), next(starts[1], 0)};
    while (true) {
        std::size_t const at = std::min(places[0], places[1]);
        if (at == text.npos) return false;
        if (accepts(at) && boost::regex_search(text.data() + at, end, found, expression,
                                               boost::match_continuous, text.data())) {
            return true;
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (places[i] == at) places[i] = next(starts[i], at + 1);
        }
    }
}

}  // namespace osora::plan
