// The clip that a thread has given to FFmpeg, so that a crash names its file: a handler of SIGSEGV,
// SIGABRT, SIGBUS and SIGFPE appends it to a file of the rank (worker/data/crashed_clips.hpp reads
// it). The handler makes only async-signal-safe calls, on a separate stack of 64 KiB a thread, as
// that of the thread may have overflown.
#pragma once

#include <filesystem>
#include <string>

namespace osora::worker {

/// What of a clip is read.
enum class ClipPart : char { headers = 'h', frames = 'f' };

/// While it lives, this thread works on the clip.
class ClipInHand {
public:
    /// `path` must outlive it.
    ClipInHand(std::string const& path, ClipPart part);
    ClipInHand(ClipInHand const&) = delete;
    ClipInHand& operator=(ClipInHand const&) = delete;
    ~ClipInHand();

private:
    char const* path_before_;
    ClipPart part_before_;
};

/// From now on a crash of a thread with a clip in hand says so on stderr, and appends "SIGNAL PART
/// PATH" and a NUL to `file`, whose folder is made then; "": on stderr only. SIGBUS in a mapped
/// file names that file on stderr instead, whatever the thread does. What was done about the signal
/// before is done after it. Call it once in a process, from main.
void note_crashes_in(std::filesystem::path const& file);

}  // namespace osora::worker
