// Runs ffmpeg once a clip; argument vectors, no shell.
#include "bench/loader/clips.hpp"

#include "base/files/files.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace osora::bench {
namespace {

struct Kind {
    char const* codec;
    char const* suffix;
    std::vector<std::string> encoder;
};

std::vector<Kind> kinds(std::string const& codec) {
    std::vector<Kind> const all{
        {"h264", ".mp4", {"-c:v", "libx264", "-preset", "veryfast"}},
        {"hevc",
         ".mp4",
         {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
          "log-level=none:bframes=3:b-adapt=0"}},
        {"mpeg4", ".mp4", {"-c:v", "mpeg4", "-q:v", "5", "-bf", "2"}},
        {"h264", ".mkv", {"-c:v", "libx264", "-preset", "veryfast", "-g", "30"}},
        {"image", ".png", {"-frames:v", "1"}},
    };
    std::vector<Kind> chosen;
    for (Kind const& kind : all) {
        if (codec.empty() || codec == kind.codec) chosen.push_back(kind);
    }
    return chosen;
}

bool run(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return false;
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Result<std::filesystem::path> make_clips(std::filesystem::path const& folder,
                                         ClipOptions const& options) {
    auto const all = kinds(options.codec);
    if (all.empty()) {
        return Error{Errc::invalid_input,
                     fmt::format("codec \"{}\": known are h264, hevc, mpeg4", options.codec)};
    }
    std::string manifest = "path\n";
    for (int i = 0; i < options.count; ++i) {
        Kind const& kind = all[static_cast<std::size_t>(i) % all.size()];
        std::string const name = fmt::format("{:03}{}", i, kind.suffix);
        std::vector<std::string> words{
            "ffmpeg",
            "-v",
            "error",
            "-nostdin",
            "-y",
            "-f",
            "lavfi",
            "-i",
            fmt::format("testsrc2=size={}x{}:rate=30:duration={},hue=h={},noise=alls=8:allf=t",
                        options.width, options.height, options.seconds, i * 17)};
        words.insert(words.end(), kind.encoder.begin(), kind.encoder.end());
        std::string const format = std::string_view(kind.codec) == "image" ? "rgb24" : "yuv420p";
        words.insert(words.end(), {"-pix_fmt", format, (folder / name).string()});
        if (!run(words)) {
            return Error{Errc::io,
                         fmt::format("clip {}: the ffmpeg program failed or is missing", name)};
        }
        manifest += name + "\n";
    }
    std::filesystem::path const path = folder / "clips.csv";
    OSORA_TRY_VOID(write_file_atomic(path, manifest));
    return path;
}

}  // namespace osora::bench
