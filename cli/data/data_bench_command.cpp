// osora data bench: decodes the clips of a manifest with osora-clips.
#include "base/environment.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "protocol/clip_requests.hpp"

#include <fmt/format.h>

#include <charconv>

namespace osora::cli {
namespace {

constexpr int kSideMax = 8192, kCountMax = 10'000, kBenchWorkersMax = 1024;

struct PictureSize {
    int width = 0;
    int height = 0;
};

Result<PictureSize> size_of(std::string const& text) {
    auto const cross = text.find('x');
    auto const side = [](std::string_view digits) {
        int value = 0;
        auto const [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        bool const good = error == std::errc() && end == digits.data() + digits.size();
        return good && value >= 1 && value <= kSideMax ? value : 0;
    };
    if (cross != std::string::npos) {
        PictureSize const size{.width = side(std::string_view(text).substr(0, cross)),
                               .height = side(std::string_view(text).substr(cross + 1))};
        if (size.width > 0 && size.height > 0) return size;
    }
    return Error{Errc::invalid_input,
                 fmt::format("--size {}: expected WIDTHxHEIGHT as in 640x360, at most {} a side",
                             text, kSideMax)};
}

Result<protocol::ClipBenchRequest> bench_request(Arguments const& arguments) {
    protocol::ClipBenchRequest request;
    auto const manifest = arguments.value("--manifest");
    if (!manifest) return Error{Errc::invalid_input, "give --manifest CSV, the clips to decode"};
    request.manifest = *manifest;
    OSORA_TRY(request.columns, plan::columns_of_words(arguments.all("--columns")));
    OSORA_TRY(auto const frames, arguments.number("--frames", 1, kCountMax));
    OSORA_TRY(auto const stride, arguments.number("--stride", 1, kCountMax));
    OSORA_TRY(auto const start, arguments.number("--start", 0, 1 << 30));
    OSORA_TRY(auto const workers, arguments.number("--workers", 0, kBenchWorkersMax));
    OSORA_TRY(auto const size, size_of(arguments.value("--size").value_or("640x360")));
    request.num_frames = frames.value_or(16);
    request.stride = stride.value_or(3);
    request.start = start.value_or(0);
    request.workers = workers.value_or(0);
    request.width = size.width;
    request.height = size.height;
    return request;
}

Result<std::string> bench_summary(std::string_view text) {
    OSORA_TRY(auto const bench, protocol::decode<protocol::ClipBench>(text));
    std::string left_out;
    if (bench.too_short > 0) left_out += fmt::format(", {} too short", bench.too_short);
    if (bench.skipped > 0) left_out += fmt::format(", {} rows left out", bench.skipped);
    return fmt::format(
        "{} clips{}: {:.4f} CPU-s a clip, {:.2f} clips/s, peak memory {:.0f} MiB\n"
        "  sha256  {}\n",
        bench.clips, left_out, bench.cpu_s_per_clip, bench.clips_per_s, bench.peak_rss_mib,
        bench.sha256);
}

int run_bench(Context const& context, Arguments const& arguments) {
    auto const request = bench_request(arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    return run_worker_and_print(context, {"bench", protocol::encode(*request)},
                                arguments.has("--json"), bench_summary, kClipsProgram);
}

}  // namespace

CommandSpec data_bench_command() {
    return {
        .name = "data bench",
        .summary = "CPU time, memory and speed of decoding clips",
        .details =
            "Decodes the same window of every clip: frames START, START + STRIDE and so on, "
            "N of them, in the order of display. Each picture is cropped to its centred part "
            "with the aspect ratio of SIZE and resized. Clips with fewer than START + (N - 1) "
            "* STRIDE + 1 frames are left out and counted (too_short). sha256 is of the RGB "
            "bytes, (N, height, width, 3) a clip, in the order of the manifest; the number of "
            "workers does not change it. The CPU time is user and system time of the whole "
            "program without the hashing. Runs in osora-clips. Exit code 1: a clip does not "
            "decode.",
        .example =
            "osora data bench --manifest clips.csv --workers 4\n"
            "osora data bench --manifest clips.csv --frames 16 --stride 3 --size 640x360 "
            "\\\n    --workers 0 --json",
        .positionals = {},
        .options = {manifest_option(),
                    columns_option(),
                    {.name = "--frames", .value = "N", .help = "Frames a clip. Default: 16."},
                    {.name = "--stride", .value = "N", .help = "From frame to frame. Default: 3."},
                    {.name = "--start",
                     .value = "N",
                     .help = "The first frame, counted from 0. Default: 0."},
                    {.name = "--size",
                     .value = "WxH",
                     .help = "Width and height in pixels. Default: 640x360."},
                    workers_option(
                        "Decoding threads, of one decoder each; 0: no thread. Default: 0."),
                    json_option("Print the figures as JSON (osora.data_bench/1).")},
        .run = run_bench};
}

}  // namespace osora::cli
