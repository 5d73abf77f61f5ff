// Finds the ranks that keep the others waiting, from the collectives that ranks recorded. Pure: the
// same dumps give the same text, whatever they hold.
#pragma once

#include "protocol/flight/flight.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace osora::protocol {

enum class Stall {
    missing,   // others wait for ranks that left no record
    behind,    // ranks that wait for nobody have not reached it
    mismatch,  // ranks called different operations, or of different sizes, at the same place
    crossed,   // ranks wait for each other in different collectives
    all_there  // every rank reached it: the network or a device is at fault
};

/// The collective that ranks wait in, and the ranks to blame.
struct StallFinding {
    Stall kind = Stall::all_there;
    std::string channel;
    FlightRecord collective;           // as the first rank that waits in it saw it
    std::vector<int> started_by;       // ranks of the run, sorted
    std::vector<int> culprits;         // sorted; empty for all_there
    std::vector<std::string> details;  // one for each culprit (or wait, when crossed): what it did
    friend bool operator==(StallFinding const&, StallFinding const&) = default;
};

/// nullopt: no rank waits, as far as the dumps show. Dumps may be missing, cut off or not belong
/// together; of two dumps of a rank the first counts.
[[nodiscard]] std::optional<StallFinding> find_stall(std::span<FlightDump const> dumps);

/// "rank 3 did not reach gradients all_reduce #118 of step 7 (started by ranks 0-2, 4-7); last
/// finished ...".
[[nodiscard]] std::string describe(StallFinding const& finding);

/// "0-2, 5"; sorted ranks.
[[nodiscard]] std::string rank_list(std::span<int const> ranks);

}  // namespace osora::protocol
