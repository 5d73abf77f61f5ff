// Order and bounds of numbered pieces, whatever the threads do.
#include "worker/data/in_order.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <vector>

namespace osora::worker {
namespace {

TEST(InOrder, TakesEveryPieceOnceInOrderFromItsSlot) {
    for (int const workers : {0, 1, 3, 50}) {
        std::vector<std::size_t> slots(in_order_slots(workers));
        std::vector<std::size_t> taken;
        std::atomic<int> ahead = 0, most = 0;
        run_in_order(40, workers,
                     {.make =
                          [&](InOrderPiece const& piece) {
                              EXPECT_LT(piece.worker, static_cast<std::size_t>(workers + 1));
                              slots.at(piece.slot) = piece.index;
                              int const now = ++ahead;
                              for (int seen = most; now > seen;) {
                                  if (most.compare_exchange_weak(seen, now)) break;
                              }
                          },
                      .take =
                          [&](InOrderPiece const& piece) {
                              EXPECT_EQ(slots.at(piece.slot), piece.index);
                              taken.push_back(piece.index);
                              --ahead;
                              return true;
                          }});
        ASSERT_EQ(taken.size(), 40u);
        for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(taken[i], i);
        EXPECT_LE(most, static_cast<int>(in_order_slots(workers)));
    }
}

TEST(InOrder, EndsWhenNothingMoreIsWanted) {
    for (int const workers : {0, 1, 3}) {
        int taken = 0;
        run_in_order(1000, workers,
                     {.make = [](InOrderPiece const&) {},
                      .take = [&](InOrderPiece const&) { return ++taken < 5; }});
        EXPECT_EQ(taken, 5);
    }
    run_in_order(
        0, 2,
        {.make = [](InOrderPiece const&) { FAIL(); }, .take = [](auto const&) { return true; }});
}

TEST(InOrder, AnExceptionComesToTheCallerInItsPlace) {
    for (int const workers : {0, 1, 3}) {
        std::size_t taken = 0;
        auto const run = [&] {
            run_in_order(40, workers,
                         {.make =
                              [](InOrderPiece const& piece) {
                                  if (piece.index >= 7) throw std::bad_alloc();
                              },
                          .take =
                              [&](InOrderPiece const& piece) {
                                  taken = piece.index + 1;
                                  return true;
                              }});
        };
        EXPECT_THROW(run(), std::bad_alloc) << workers;
        EXPECT_EQ(taken, 7u) << workers;
    }
}

}  // namespace
}  // namespace osora::worker
