// loader_memory: sends clips through the loader and watches the memory of this process. Fails when
// memory grows by more than 1 KiB a clip or the loader needs more than its budget said.
#include "base/text/units.hpp"
#include "bench/loader/clips.hpp"
#include "bench/loader/slope.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/loader.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace osora::bench {
namespace {

struct Options {
    int clips = 2000;
    int settle = 500;  // clips before the slope is taken
    int workers = 2;
    int prefetch = 2;
    int frames = 16;
    int stride = 3;
    std::string resolution = "240p";
    std::int64_t leak_bytes = 0;  // kept for ever at each clip: shows that growth is found
    ClipOptions source;
};

struct Memory {
    double rss_bytes = 0.0;
    double anon_bytes = 0.0;
};

Memory memory_now() {
    std::ifstream file("/proc/self/smaps_rollup");
    Memory memory;
    for (std::string word; file >> word;) {
        double kib = 0.0;
        if (word == "Rss:" && file >> kib) memory.rss_bytes = kib * 1024;
        if (word == "Anonymous:" && file >> kib) memory.anon_bytes = kib * 1024;
    }
    return memory;
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Folder {
public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "osora-bench-XXXXXX");
        path_ = mkdtemp(pattern.data());
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

Result<plan::StepSchedule> make_schedule(worker::Manifest const& manifest, Options const& options) {
    std::vector<plan::ClipShape> shapes;
    for (worker::Clip const& clip : manifest.clips) {
        shapes.push_back({clip.num_frames, clip.height, clip.width});
    }
    OSORA_TRY(auto const table,
              plan::BucketTable::make({{options.resolution, options.frames, 0.6},
                                       {"64", options.frames},
                                       {options.resolution, 1}},
                                      {.frame_stride = options.stride, .multiple = 16}));
    return plan::StepSchedule::make(plan::fill_buckets(table, shapes),
                                    std::vector<std::int64_t>{4, 8, 16}, {.seed = 1});
}

struct Series {
    std::vector<double> clips, rss, anon;  // after each batch
    double baseline_rss = 0.0;             // before the loader
    double peak_rss = 0.0;
    double cpu_s = 0.0;
    double wall_s = 0.0;
    double bytes_seen = 0.0;  // so that pixels are read
};

Result<Series> run(worker::Loader& loader, Options const& options, Series series) {
    std::vector<std::vector<char>> leaked;
    double const cpu_begin = cpu_seconds();
    auto const begin = std::chrono::steady_clock::now();
    int clips = 0;
    for (std::uint64_t step = 0; clips < options.clips; ++step) {
        OSORA_TRY(worker::Batch const batch, loader.next(step));
        series.bytes_seen += std::ranges::max(batch.pixels());
        clips += static_cast<int>(batch.samples().size());
        for (std::size_t i = 0; options.leak_bytes > 0 && i < batch.samples().size(); ++i) {
            leaked.emplace_back(static_cast<std::size_t>(options.leak_bytes), 'x');
        }
        Memory const memory = memory_now();
        series.clips.push_back(clips);
        series.rss.push_back(memory.rss_bytes);
        series.anon.push_back(memory.anon_bytes);
        series.peak_rss = std::max(series.peak_rss, memory.rss_bytes);
    }
    series.cpu_s = cpu_seconds() - cpu_begin;
    series.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return series;
}

std::string bytes(double value) {
    return format_bytes(static_cast<std::int64_t>(value));
}

int report(Series const& series, plan::LoaderMemory const& memory, Options const& options) {
    auto const first = static_cast<std::size_t>(
        std::ranges::lower_bound(series.clips, options.settle) - series.clips.begin());
    auto const tail = [first](std::vector<double> const& values) {
        return std::span(values).subspan(first);
    };
    Slope const rss = theil_sen(tail(series.clips), tail(series.rss));
    Slope const anon = theil_sen(tail(series.clips), tail(series.anon));
    double const clips = series.clips.back();
    double const used = series.peak_rss - series.baseline_rss;
    fmt::print("clips            {:.0f} in {} batches, {:.2f} CPU-ms a clip, {:.1f} clips/s\n",
               clips, series.clips.size(), 1e3 * series.cpu_s / clips, clips / series.wall_s);
    fmt::print("budget           {} = {} batches of {} + {} decoders of {}\n",
               format_bytes(memory.total_bytes), memory.slots, format_bytes(memory.slot_bytes),
               memory.decoders, format_bytes(memory.decoder_bytes));
    fmt::print("peak             {} ({} in all, {} before the loader)\n", bytes(used),
               bytes(series.peak_rss), bytes(series.baseline_rss));
    fmt::print(
        "slope after {}  rss {:.1f} B a clip (95 % bound {:.1f}), anonymous {:.1f} ({:.1f})\n",
        options.settle, rss.median, rss.upper_95, anon.median, anon.upper_95);
    bool const flat = rss.upper_95 < 1024 && anon.upper_95 < 1024;
    bool const within = used <= static_cast<double>(memory.total_bytes);
    fmt::print("{}: slope < 1 KiB a clip; {}: peak <= budget\n", flat ? "ok" : "FAILED",
               within ? "ok" : "FAILED");
    return flat && within ? 0 : 1;
}

Result<int> bench(Options const& options) {
    Folder const folder;
    OSORA_TRY(auto const path, make_clips(folder.path(), options.source));
    OSORA_TRY(auto const manifest, worker::read_manifest(path));
    OSORA_TRY(auto const schedule, make_schedule(manifest, options));
    Series series;
    series.baseline_rss = memory_now().rss_bytes;
    OSORA_TRY(auto const loader, worker::Loader::start(schedule, manifest,
                                                       {.num_workers = options.workers,
                                                        .prefetch_factor = options.prefetch,
                                                        .frame_stride = options.stride}));
    OSORA_TRY(series, run(*loader, options, std::move(series)));
    return report(series, loader->memory(), options);
}

}  // namespace
}  // namespace osora::bench

int main(int argc, char** argv) {
    osora::bench::Options options;
    CLI::App app("Memory and CPU time of the video loader, on clips made by the ffmpeg program");
    app.add_option("--clips", options.clips, "clips to decode")->capture_default_str();
    app.add_option("--settle", options.settle, "clips before the slope")->capture_default_str();
    app.add_option("--workers", options.workers, "decoding threads")->capture_default_str();
    app.add_option("--prefetch", options.prefetch, "batches ahead")->capture_default_str();
    app.add_option("--frames", options.frames, "frames a clip")->capture_default_str();
    app.add_option("--stride", options.stride, "source frames a frame")->capture_default_str();
    app.add_option("--resolution", options.resolution, "of the large bucket")
        ->capture_default_str();
    app.add_option("--width", options.source.width, "of the source")->capture_default_str();
    app.add_option("--height", options.source.height, "of the source")->capture_default_str();
    app.add_option("--seconds", options.source.seconds, "of a source clip")->capture_default_str();
    app.add_option("--files", options.source.count, "source clips")->capture_default_str();
    app.add_option("--codec", options.source.codec, "only h264, hevc or mpeg4");
    app.add_option("--leak", options.leak_bytes, "bytes to leak at each clip, as a check");
    CLI11_PARSE(app, argc, argv);
    osora::worker::silence_ffmpeg();
    auto const done = osora::bench::bench(options);
    if (done.has_error()) {
        fmt::print(stderr, "loader_memory: {}\n", done.error().message);
        return 2;
    }
    return *done;
}
