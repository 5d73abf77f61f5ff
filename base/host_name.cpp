#include "base/host_name.hpp"

#include "base/text/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace osora {

std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string node_name(Environment const& environment) {
    return variable_or(environment, "SLURMD_NODENAME", host_name());
}

bool is_same_host(std::string_view left, std::string_view right) {
    if (left.size() > right.size()) std::swap(left, right);
    bool const is_address = right.find_first_not_of("0123456789.:") == std::string_view::npos;
    if (left == right || left.empty() || is_address) return left == right && !left.empty();
    return right.starts_with(left) && right[left.size()] == '.' &&
           left.find('.') == std::string_view::npos;
}

bool names_host(std::vector<std::string> const& names, std::string_view host) {
    std::string const wanted = lower(host);
    return std::ranges::any_of(names,
                               [&](auto const& each) { return is_same_host(lower(each), wanted); });
}

}  // namespace osora
