#include "daemon/backends/ssh/earlier_hosts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace osora::daemon {
namespace {

/// A host may call itself "n1.cluster" where the run file says "n1".
std::string_view short_name(std::string_view host) {
    return host.substr(0, host.find('.'));
}

bool is_same(plan::SshHost const& host, std::string_view name) {
    bool const is_address = host.host.find_first_not_of("0123456789.:") == std::string::npos;
    if (name.empty() || is_address) return host.host == name && !name.empty();
    return short_name(host.host) == short_name(name);
}

}  // namespace

std::vector<plan::SshHost> hosts_as_before(std::vector<plan::SshHost> hosts,
                                           std::vector<std::string> const& last) {
    auto const is_at_home = [&](std::size_t place) {
        return place < last.size() && is_same(hosts[place], last[place]);
    };
    for (std::size_t node = 0; node < std::min(last.size(), hosts.size()); ++node) {
        if (is_at_home(node)) continue;
        for (std::size_t place = 0; place < hosts.size(); ++place) {
            if (!is_same(hosts[place], last[node]) || is_at_home(place)) continue;
            std::swap(hosts[node], hosts[place]);
            break;
        }
    }
    return hosts;
}

}  // namespace osora::daemon
