// Private to the controller core: a hang that is being examined.
#pragma once

#include "daemon/clock.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::daemon {

/// A hang was seen; the nodes report what their ranks are doing before these are killed.
struct HangInquiry {
    int attempt = 0;
    MonotonicTime deadline{};
    std::vector<bool> waiting_for;  // by node
    std::map<int, std::string> states;
};

}  // namespace osora::daemon
