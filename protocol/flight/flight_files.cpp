#include "protocol/flight/flight_files.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace osora::protocol {
namespace {

constexpr std::int64_t kFlightBytesMax = 8 << 20;

std::optional<FlightDump> read_one(std::filesystem::path const& run_dir, int rank) {
    auto const path = flight_file(run_dir, rank);
    std::error_code none;
    if (!std::filesystem::exists(path, none)) return std::nullopt;
    auto const text = read_file(path, kFlightBytesMax);
    if (text.has_error()) return std::nullopt;
    auto dump = decode<FlightDump>(*text);
    bool const fits = dump.has_value() && dump->schema == kFlightSchema && dump->rank == rank;
    return fits ? std::optional(std::move(*dump)) : std::nullopt;
}

}  // namespace

std::filesystem::path flight_file(std::filesystem::path const& run_dir, int rank) {
    return run_dir / "flight" / fmt::format("rank-{}.json", rank);
}

Result<void> write_flight(std::filesystem::path const& run_dir, FlightDump const& dump) {
    auto const path = flight_file(run_dir, dump.rank);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return Error{Errc::io, path.parent_path().string() + ": " + error.message()};
    return write_file_atomic(path, encode(dump) + "\n", 0600);
}

void forget_flight(std::filesystem::path const& run_dir, int rank, int attempt) {
    auto const dump = read_one(run_dir, rank);
    if (dump && dump->attempt != attempt) return;
    std::error_code none;
    std::filesystem::remove(flight_file(run_dir, rank), none);
}

std::vector<FlightDump> read_flights(std::filesystem::path const& run_dir, int attempt,
                                     int world_size) {
    std::vector<FlightDump> dumps;
    for (int rank = 0; rank < world_size; ++rank) {
        auto dump = read_one(run_dir, rank);
        if (dump && dump->attempt == attempt) dumps.push_back(std::move(*dump));
    }
    return dumps;
}

}  // namespace osora::protocol
