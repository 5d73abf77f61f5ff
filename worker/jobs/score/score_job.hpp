// run.job = "score": scores of the clips of a list, over ranks (docs/rfc/029).
#pragma once

#include "worker/jobs/train_job.hpp"

namespace osora::worker {

/// Keeps the rows of earlier attempts; rank 0 writes score.output when all clips have a row, the
/// same bytes as `osora data score` with any number of ranks. A clip that cannot be scored has its
/// error in its row and ends nothing. Errors: those of the list; invalid_input (an output that is
/// there, text without Tesseract, a model's file), unreachable, io, out_of_space, which keeps what
/// is done.
[[nodiscard]] Result<TrainOutcome> run_score_job(plan::WorkerJob const& job,
                                                 RankEnvironment const& self, AgentLink& agent);

}  // namespace osora::worker
