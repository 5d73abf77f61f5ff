// Event files of TensorBoard, byte by byte: records of tensorflow/core/lib/io/record_writer, each
// an Event of tensorflow/core/util/event.proto with values of summary.proto. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct Scalar {
    std::string_view tag;
    double value = 0;  // stored as a 32-bit float
};

/// The first record: the version of the format.
[[nodiscard]] std::string event_file_start(double wall_s);
[[nodiscard]] std::string scalar_event(std::int64_t step, double wall_s,
                                       std::vector<Scalar> const& scalars);

}  // namespace osora::cli
