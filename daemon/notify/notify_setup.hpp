// What the controller needs to send the messages of [notify].
#pragma once

#include "base/environment.hpp"
#include "plan/config/sections/recovery_sections.hpp"

#include <chrono>
#include <filesystem>
#include <string>

namespace osora::daemon {

struct NotifySetup {
    plan::NotifySection notify;              // with its secrets, from job.json; default: none
    std::string series;                      // run.name
    std::string host;                        // of this controller
    std::filesystem::path osorad;            // this program
    std::filesystem::path base_dir;          // where notify.command runs
    Environment environment;                 // of the programs
    std::chrono::milliseconds limit{10000};  // for each child
};

}  // namespace osora::daemon
