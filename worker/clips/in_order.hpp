// Numbered pieces of work made by threads and taken by the caller in order, with a bounded number
// ahead of it. What is made is the caller's business: it owns one place per slot.
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
    std::function<void(InOrderPiece const&)> make;  // from several threads; must not throw
    std::function<bool(InOrderPiece const&)> take;  // the calling thread; false: no more
};

/// Pieces that exist at one time.
[[nodiscard]] std::size_t in_order_slots(int workers);

/// All `count` pieces, or until take() says no. 0 workers: made in the calling thread.
void run_in_order(std::size_t count, int workers, InOrderWork const& work);

}  // namespace osora::worker
