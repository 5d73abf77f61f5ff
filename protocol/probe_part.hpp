// A part of what a probe measured, as its leader tells it round by round: members of
// topology::ProbeResult with the samples that are new; the last part holds scores and findings. An
// event of the journal, so that history has every sample. Decides nothing.
#pragma once

#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <string_view>

namespace osora::protocol {

/// Worker to agent.
struct ProbeMeasured {
    static constexpr std::string_view kType = "probe";
    json::value part;
};
/// Agent to controller, and in the journal.
struct ProbePart {
    static constexpr std::string_view kType = "probe";
    int attempt = 0, node = 0;
    json::value part;
};

BOOST_DESCRIBE_STRUCT(ProbeMeasured, (), (part))
BOOST_DESCRIBE_STRUCT(ProbePart, (), (attempt, node, part))

}  // namespace osora::protocol
