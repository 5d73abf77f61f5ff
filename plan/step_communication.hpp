// Time of the collectives of a step: internal to plan/step_time.
#pragma once

#include "plan/step_time.hpp"

namespace osora::plan {

inline constexpr double kBackwardShare = 2.0 / 3.0;  // of a pass

/// Bytes of a weight or gradient.
[[nodiscard]] int value_bytes(StepQuery const& query);
/// Parameters that a rank trains, if ZeRO divides nothing.
[[nodiscard]] double trained_numbers(StepQuery const& query);

/// Time that a pass waits for other ranks' tokens: attention exchanges q, k, v and its result,
/// backward exchanges them back, and the output is gathered once. In a ring: hops of keys, values
/// and their gradients that attention does not hide.
[[nodiscard]] double token_exchange_s(StepQuery const& query, Calibration const& calibration);
/// Time that a pass waits in shared linear layers: tokens are gathered before them, and the ranks'
/// results are summed after them; backward does the reverse.
[[nodiscard]] double layer_exchange_s(StepQuery const& query, Calibration const& calibration);
/// A micro-batch's tokens to the next stage, and their gradient back. Within a node a message of S
/// bytes takes half of an all_reduce of S bytes between two ranks.
[[nodiscard]] double stage_transfer_s(StepQuery const& query, Calibration const& calibration);

}  // namespace osora::plan
