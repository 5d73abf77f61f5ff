// Decodes in a child, `osora-clips read`, with one clip at a time: a crash of FFmpeg ends the child
// and names the clip. The clip is tried once more in another child, then it has a fault.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"
#include "worker/clips/clip_reader.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace osora::worker {

/// Of all readers of a process.
struct CrashCount {
    std::atomic<std::int64_t> clips = 0, crashed = 0;
};

/// Whether so many crashes are no longer the clips' fault: more than 5, and one clip in ten.
[[nodiscard]] bool too_many_crashes(std::int64_t clips, std::int64_t crashed);

struct ReaderProgram {
    std::filesystem::path program = {};  // osora-clips; empty: no child
    Environment environment = {};        // of the child
};
/// $OSORA_CLIPS, else ../bin/osora-clips of this program's folder, in this environment.
[[nodiscard]] ReaderProgram reader_program();

/// Starts its child with the first clip. The child ends with the thread that reads, with a clip
/// that is read for 30 s longer than its deadline, and when it is cancelled. Faults beside those of
/// local_reader(): crash. Errors of read(): io (the program does not start; too_many_crashes()).
[[nodiscard]] std::unique_ptr<ClipReader> child_reader(ReaderProgram program, AskedScores asked,
                                                       std::shared_ptr<CrashCount> count);

/// The request of the child: what to decode. Models have no file.
[[nodiscard]] std::string read_request(AskedScores const& asked);

}  // namespace osora::worker
