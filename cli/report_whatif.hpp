// osora report --whatif: the what-if analysis of a traced job.
#pragma once

#include "cli/arguments.hpp"

namespace osora::cli {

/// Reads --whatif and --meta, prints, gives the exit code.
int report_whatif(Arguments const& arguments);

}  // namespace osora::cli
