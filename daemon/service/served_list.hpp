// STATE/daemon.json: the runs that the daemon serves. Versions without `reopening` ignore it, and
// their files lack it.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::daemon {

/// A run that was given to the daemon to be reopened (osora resume).
struct Reopening {
    std::string run;       // its directory
    int incarnations = 0;  // that the journal showed then; more of them: the run was reopened
};
struct ServedList {
    std::vector<std::string> runs;  // directories
    std::vector<Reopening> reopening;
};
BOOST_DESCRIBE_STRUCT(Reopening, (), (run, incarnations))
BOOST_DESCRIBE_STRUCT(ServedList, (), (runs, reopening))

}  // namespace osora::daemon
