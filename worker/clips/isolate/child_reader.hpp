// Decodes for scores in a child, `osora-clips read` (clip_child.hpp).
#pragma once

#include "worker/clips/clip_reader.hpp"
#include "worker/clips/isolate/clip_child.hpp"

#include <memory>
#include <string>

namespace osora::worker {

/// Faults beside those of local_reader(): crash. Errors of read(): those of ClipChild::ask().
[[nodiscard]] std::unique_ptr<ClipReader> child_reader(ReaderProgram program, AskedScores asked,
                                                       std::shared_ptr<CrashCount> count);

/// The request of the child: what to decode. Models have no file.
[[nodiscard]] std::string read_request(AskedScores const& asked);

}  // namespace osora::worker
