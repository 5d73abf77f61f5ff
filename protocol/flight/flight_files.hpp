// RUN_DIR/flight: the collectives that ranks recorded, one file for each rank.
#pragma once

#include "base/result.hpp"
#include "protocol/flight/flight.hpp"

#include <filesystem>
#include <vector>

namespace osora::protocol {

/// RUN_DIR/flight/rank-R.json.
[[nodiscard]] std::filesystem::path flight_file(std::filesystem::path const& run_dir, int rank);

/// Written whole or not at all.
[[nodiscard]] Result<void> write_flight(std::filesystem::path const& run_dir,
                                        FlightDump const& dump);

/// Removes files from an earlier start of the same attempt, which would be mistaken for this one's.
void forget_flight(std::filesystem::path const& run_dir, int rank, int attempt);

/// The files of `attempt` that can be read, by rank; at most `world_size`. A file that is cut off,
/// of another schema, attempt or rank, or larger than 8 MiB is left out.
[[nodiscard]] std::vector<FlightDump> read_flights(std::filesystem::path const& run_dir,
                                                   int attempt, int world_size);

}  // namespace osora::protocol
