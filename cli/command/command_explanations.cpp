// Errors of commands, and what osora data check finds.
#include "cli/command/explanations_internal.hpp"

#include "cli/command/exit_code.hpp"

#include <array>

namespace osora::cli {
namespace {

constexpr std::array kCommandErrors{
    Explanation{
        .id = "E-busy",
        .title = "another process holds it",
        .meaning =
            "A lock of the state folder, the history or a run directory is held by another osora, "
            "or by a controller that still works.",
        .causes = "another osora command writes the history\n"
                  "the run is still controlled\n"
                  "a controller on another node of a shared file system holds the lock",
        .next = "osora status\n"
                "try again when the other process has ended",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-corrupt",
        .title = "something that osora wrote can no longer be read",
        .meaning =
            "A journal, the history, a checkpoint or an index does not have the content that was "
            "written.",
        .causes = "a disk or file system that lost data\n"
                  "the file was edited",
        .next = "osora history check\n"
                "osora history rebuild makes the history from the journals\n"
                "osora resume RUN continues from an older checkpoint if the newest is damaged",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-disk",
        .title = "a disk or a quota is full",
        .meaning = "A write failed for want of space. What was written before is kept and valid.",
        .causes = "checkpoints, caches or logs fill the file system\n"
                  "a quota of the user or project",
        .next = "osora history vacuum\n"
                "checkpoint.keep limits the checkpoints of a run\n"
                "df -h; quota -s",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-does-not-fit",
        .title = "the run needs more memory than there is",
        .meaning =
            "The plan predicts that no layout that the run file allows fits. Nothing was started.",
        .causes = "a bucket with too many or too large frames\n"
                  "sizes that the run file sets",
        .next = "the message names what would make it fit\n"
                "osora plan RUN.toml --explain\n"
                "memory.recompute = \"auto\" and parallel sizes \"auto\" let the plan choose",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-input",
        .title = "the command line or a file is not valid",
        .meaning = "osora did nothing. The message names the place, the rule and the nearest valid "
                   "value.",
        .causes = "a misspelled name\n"
                  "a value out of its range\n"
                  "a file that is not there",
        .next = "osora COMMAND --help\n"
                "osora validate RUN.toml",
        .exit_code = kExitUsage,
    },
    Explanation{
        .id = "E-internal",
        .title = "a defect of osora",
        .meaning = "Something happened that osora's authors ruled out.",
        .causes = "a defect",
        .next = "report it with the message, the version (osora --version) and the run directory",
        .exit_code = kExitInternal,
    },
    Explanation{
        .id = "E-io",
        .title = "a file or a device could not be read or written",
        .meaning = "The system refused an operation; the message has its reason.",
        .causes = "no permission\n"
                  "a file system that is read-only or gone\n"
                  "too many open files",
        .next = "ls -ld PATH; df PATH; ulimit -n",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-unreachable",
        .title = "a controller, a host or the scheduler did not answer",
        .meaning =
            "The command needs another process or machine, which did not answer in time. A run "
            "that is training is not affected.",
        .causes = "the run's controller has ended or is on another host\n"
                  "ssh asks for a password or an unknown host key\n"
                  "slurmctld is down",
        .next = "osora status\n"
                "osora daemon status\n"
                "osora doctor",
        .exit_code = kExitUnreachable,
    },
};

constexpr std::array kClipErrors{
    Explanation{
        .id = "E-clip-damaged",
        .title = "a clip cannot be decoded whole",
        .meaning = "osora data check decoded frames of this clip, and the decoder reported errors.",
        .causes = "the file was cut off while it was copied\n"
                  "bytes of it have changed",
        .next = "copy or encode the clip again\n"
                "osora data check --quarantine bad.csv lists all of them",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-empty",
        .title = "the file of a clip has no bytes",
        .meaning = "The row names a file of length 0.",
        .causes = "a copy or a download that was interrupted\n"
                  "a full disk",
        .next = "copy the clip again, or remove its row",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-missing",
        .title = "the file of a clip is not there",
        .meaning = "The path of a row, taken from the folder of the list, names no file.",
        .causes = "the list was made on another machine\n"
                  "the folder is not mounted here\n"
                  "the clip was moved",
        .next = "make the paths relative to the folder of the list\n"
                "osora data check --manifest LIST",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-row",
        .title = "a row of the list cannot be read",
        .meaning = "The row has too few or too many fields, no path, or a number that is none.",
        .causes = "a quote that is opened and not closed\n"
                  "another separator\n"
                  "columns under other names",
        .next = "correct the line that the message names\n"
                "[data] columns = { path = \"video\" } maps columns of other names",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-short",
        .title = "a clip has fewer frames than its row says",
        .meaning = "Frames at the end of the row's num_frames do not exist in the file.",
        .causes = "an estimate from duration and rate\n"
                  "the file was cut off",
        .next = "osora data index --manifest LIST --out NEW counts frames",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-size",
        .title = "a clip has another size than its row says",
        .meaning = "Players show the clip with another height or width, because they rotate it or "
                   "stretch its pixels.",
        .causes = "the list has the size as stored, as ffprobe and PyAV print it",
        .next = "[data] columns = { height = \"\", width = \"\" } takes all sizes from the files",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-slow",
        .title = "a clip took longer than the deadline",
        .meaning = "Reading and decoding the frames of this clip took longer than --deadline.",
        .causes = "a slow or dead network file system\n"
                  "a clip with very distant keyframes",
        .next = "osora data check --deadline SECONDS\n"
                "encode it again with a keyframe every 2 s",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-too-large",
        .title = "a picture of the clip is too large",
        .meaning = "The pictures of this clip do not fit into the memory that decoding may use.",
        .causes = "a header that was changed or made to exhaust memory\n"
                  "a clip of more than 8k",
        .next = "scale the clip down, or remove its row",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-clip-unreadable",
        .title = "the file of a clip is no video that can be read",
        .meaning = "FFmpeg finds no video in the file, or no decoder for it.",
        .causes = "sound or a cover picture only\n"
                  "another kind of file under this name\n"
                  "a codec that this FFmpeg does not have\n"
                  "no permission to read it",
        .next = "ffprobe FILE\n"
                "encode it as H.264, HEVC, VP9 or AV1",
        .exit_code = kExitBad,
    },
};

}  // namespace

std::span<Explanation const> command_explanations() {
    return kCommandErrors;
}
std::span<Explanation const> clip_explanations() {
    return kClipErrors;
}

}  // namespace osora::cli
