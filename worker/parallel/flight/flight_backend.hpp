// A c10d backend that forwards everything to another one and reports each collective to a
// FlightRecorder: the single place that all collectives of a rank pass.
#pragma once

#include "worker/parallel/flight/flight_recorder.hpp"

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <string>
#include <vector>

namespace c10d {
class Backend;
}

namespace osora::worker {

/// `name` of the group; `ranks` of the run, in the group's order.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend> recorded(c10::intrusive_ptr<c10d::Backend> backend,
                                                         std::shared_ptr<FlightRecorder> recorder,
                                                         std::string const& name,
                                                         std::vector<int> const& ranks);

}  // namespace osora::worker
