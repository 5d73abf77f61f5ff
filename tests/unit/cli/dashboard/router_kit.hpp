// Requests, and the rules of a server with short scripts.
#pragma once

#include "cli/dashboard/router.hpp"

#include <string>

namespace osora::cli::test {

inline WebRules rules() {
    auto made = rules_for({"127.0.0.1", 8265}, "login1.cluster");
    made.report_assets = {"body{}", "draw()", "a licence"};
    made.assets = {"body{}", "a{}", "follow()"};
    return made;
}

inline WebRequest get(std::string const& target, std::string const& host = "127.0.0.1:8265") {
    return {.method = "GET", .target = target, .host = host};
}

}  // namespace osora::cli::test
