// A NCCL_*, TORCH_NCCL_* or GLOO_* variable that a rank gets although nobody asked osora for it,
// and its origin. NCCL's order: environment, then $NCCL_CONF_FILE or else ~/.nccl.conf, then
// /etc/nccl.conf; the first to set a name wins.
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::topology {

struct InheritedSetting {
    std::string name, value;
    std::string origin;     // "environment", "environment, set by /etc/profile.d/nccl.sh:4",
                            // "/etc/nccl.conf:3", "/home/a/.nccl.conf:1"
    bool effective = true;  // false: another origin wins, or the line has no effect
    std::string note = {};  // a problem of the value: "DOS line end: ..."; "" = none
    friend bool operator==(InheritedSetting const&, InheritedSetting const&) = default;
};

BOOST_DESCRIBE_STRUCT(InheritedSetting, (), (name, value, origin, effective, note))

}  // namespace osora::topology
