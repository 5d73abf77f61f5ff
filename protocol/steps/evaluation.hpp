// The result of an evaluation, as rank 0 reports it and as the journal of the run keeps it
// (docs/rfc/022).
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string_view>

namespace osora::protocol {

/// The loss on clips that are not trained on, over all ranks; rank 0 reports it.
struct Evaluated {
    static constexpr std::string_view kType = "evaluated";
    int step = 0;  // training steps before it
    double loss = 0;
    std::int64_t samples = 0;
    double seconds = 0;
};
struct EvaluationDone {
    static constexpr std::string_view kType = "evaluation";
    int attempt = 0, step = 0;  // step: training steps before it
    double loss = 0;            // on clips that are not trained on
    std::int64_t samples = 0;
    double seconds = 0;
};
BOOST_DESCRIBE_STRUCT(Evaluated, (), (step, loss, samples, seconds))
BOOST_DESCRIBE_STRUCT(EvaluationDone, (), (attempt, step, loss, samples, seconds))

}  // namespace osora::protocol
