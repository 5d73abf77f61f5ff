// A part of a probe's result, sent by its leader round by round: members of topology::ProbeResult
// with the new samples; the last part holds scores and findings. An event of the journal, so that
// the history has every sample. It decides nothing.
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
