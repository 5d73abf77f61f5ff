#include "daemon/backends/ssh/earlier_hosts.hpp"

#include "base/host_name.hpp"

#include <algorithm>
#include <utility>

namespace osora::daemon {

std::vector<plan::SshHost> hosts_as_before(std::vector<plan::SshHost> hosts,
                                           std::vector<std::string> const& last) {
    auto const is_at_home = [&](std::size_t place) {
        return place < last.size() && is_same_host(hosts[place].host, last[place]);
    };
    for (std::size_t node = 0; node < std::min(last.size(), hosts.size()); ++node) {
        if (is_at_home(node)) continue;
        for (std::size_t place = 0; place < hosts.size(); ++place) {
            if (!is_same_host(hosts[place].host, last[node]) || is_at_home(place)) continue;
            std::swap(hosts[node], hosts[place]);
            break;
        }
    }
    return hosts;
}

}  // namespace osora::daemon
