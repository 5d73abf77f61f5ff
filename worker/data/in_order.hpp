// Numbered work items made by threads and taken by the caller in order, with a bounded number
// ahead. The caller owns the items: one place per slot.
#pragma once

#include <cstddef>
#include <functional>

namespace osora::worker {

struct InOrderPiece {
    std::size_t index = 0;   // of the piece
    std::size_t slot = 0;    // < in_order_slots(workers); held until the piece is taken
    std::size_t worker = 0;  // < max(1, workers)
};

struct InOrderWork {
    std::function<void(InOrderPiece const&)> make;  // from several threads
    std::function<bool(InOrderPiece const&)> take;  // on the calling thread; false: stop
};

/// Maximum number of items that exist at one time.
[[nodiscard]] std::size_t in_order_slots(int workers);

/// All `count` items, or until take() returns false. 0 workers: made on the calling thread. An
/// exception of make() is thrown when its item would be taken.
void run_in_order(std::size_t count, int workers, InOrderWork const& work);

}  // namespace osora::worker
