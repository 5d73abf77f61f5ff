// osora whatif, and osora report --whatif: the what-if analysis of a traced job.
#pragma once

#include "cli/command/arguments.hpp"

#include <string>

namespace osora::cli {

/// Analyses the trace `ops_file`, prints, gives the exit code.
int print_whatif(std::string const& ops_file, Arguments const& arguments);

}  // namespace osora::cli
