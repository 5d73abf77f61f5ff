// A NCCL_*, TORCH_NCCL_* or GLOO_* variable that a rank gets without anybody having asked osora
// for it, and where it comes from. The order in which NCCL looks: environment, then
// $NCCL_CONF_FILE or /etc/nccl.conf and ~/.nccl.conf for what the environment does not set.
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::topology {

struct InheritedSetting {
    std::string name, value;
    std::string origin;     // "environment", "/etc/nccl.conf:3", "/home/a/.nccl.conf:1"
    bool effective = true;  // false: another origin wins
    friend bool operator==(InheritedSetting const&, InheritedSetting const&) = default;
};

BOOST_DESCRIBE_STRUCT(InheritedSetting, (), (name, value, origin, effective))

}  // namespace osora::topology
