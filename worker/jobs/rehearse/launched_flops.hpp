// The work of passes that compute nothing, from the matrix products that they launch.
#pragma once

#include <cstdint>

namespace osora::worker {

/// FLOPs of matrix products that this thread has launched since reset(), while it exists: 2 m k n
/// for (m, k) times (k, n). One at a time on a thread.
class LaunchedFlops {
public:
    LaunchedFlops();
    ~LaunchedFlops();
    LaunchedFlops(LaunchedFlops const&) = delete;
    LaunchedFlops& operator=(LaunchedFlops const&) = delete;

    [[nodiscard]] double count() const;
    void reset();

private:
    std::uint64_t handle_;  // of the callback
};

}  // namespace osora::worker
