#include "daemon/backends/ssh/earlier_hosts.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using Names = std::vector<std::string>;

Names placed(Names const& names, Names const& last) {
    std::vector<plan::SshHost> hosts(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) hosts[i].host = names[i];
    Names found;
    for (auto const& each : hosts_as_before(hosts, last)) found.push_back(each.host);
    return found;
}

TEST(EarlierHosts, ANodeThatMovedToASpareStaysThere) {
    Names const hosts{"n0", "n1", "n2", "n3"};
    EXPECT_EQ(placed(hosts, {}), hosts);
    EXPECT_EQ(placed(hosts, {"", "", ""}), hosts) << "no agent has joined";
    EXPECT_EQ(placed(hosts, {"n0", "n1", "n2"}), hosts);
    EXPECT_EQ(placed(hosts, {"n0", "n3.cluster", "n2"}), (Names{"n0", "n3", "n2", "n1"}));
    EXPECT_EQ(placed({"n0", "n1", "n2", "n3", "n4"}, {"n3", "n4", "n2"}),
              (Names{"n3", "n4", "n2", "n0", "n1"}));
}

TEST(EarlierHosts, OtherNamesChangeNothing) {
    Names const addresses{"10.0.0.1", "10.0.0.2"};
    EXPECT_EQ(placed(addresses, {"n1", "n0"}), addresses);
    EXPECT_EQ(placed(addresses, {"10", "10"}), addresses);
    EXPECT_EQ(placed({"n0", "n1"}, {"n0", "elsewhere"}), (Names{"n0", "n1"}));
    EXPECT_EQ(placed({"n0"}, {"n0", "n1"}), (Names{"n0"}));
    // Two agents of one host, by port.
    EXPECT_EQ(placed({"n0", "n0", "n1"}, {"n0", "n0"}), (Names{"n0", "n0", "n1"}));
}

}  // namespace
}  // namespace osora::daemon
