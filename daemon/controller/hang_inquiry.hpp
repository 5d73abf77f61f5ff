// Private to the controller core: a hang that is being looked at.
#pragma once

#include "daemon/clock.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::daemon {

/// A hang was seen; the nodes are asked what their ranks are doing before they are killed.
struct HangInquiry {
    int attempt = 0;
    MonotonicTime deadline{};
    std::vector<bool> waiting_for;  // by node
    std::map<int, std::string> states;
};

}  // namespace osora::daemon
