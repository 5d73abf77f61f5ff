// A NCCL_*, TORCH_NCCL_* or GLOO_* variable that a rank gets without anybody having asked osora
// for it, and where it comes from. The order in which NCCL looks: environment, then
// $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf; the first to set a name wins.
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::topology {

struct InheritedSetting {
    std::string name, value;
    std::string origin;     // "environment", "environment, set by /etc/profile.d/nccl.sh:4",
                            // "/etc/nccl.conf:3", "/home/a/.nccl.conf:1"
    bool effective = true;  // false: another origin wins, or the line does nothing
    std::string note = {};  // what is odd about it: "DOS line end: ..."; "" = nothing
    friend bool operator==(InheritedSetting const&, InheritedSetting const&) = default;
};

BOOST_DESCRIBE_STRUCT(InheritedSetting, (), (name, value, origin, effective, note))

}  // namespace osora::topology
