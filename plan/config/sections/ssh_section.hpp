// [ssh] of the run file: the hosts and the login. Read by the ssh backend.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::plan {

struct SshSection {
    std::vector<std::string> hosts;
    std::string hostfile;
    std::string identity;     // private key file; empty = those of ~/.ssh and the ssh agent
    std::string known_hosts;  // file; empty = ~/.ssh/known_hosts
};
BOOST_DESCRIBE_STRUCT(SshSection, (), (hosts, hostfile, identity, known_hosts))

}  // namespace osora::plan
