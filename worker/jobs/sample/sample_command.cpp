// Checkpoint -> latent -> pixels -> files; each step by its own part.
#include "worker/jobs/sample/sample_command.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "protocol/run_directory.hpp"
#include "worker/data/contact_sheet.hpp"
#include "worker/data/video_writer.hpp"
#include "worker/jobs/cached_data.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/jobs/sample/sample_latent.hpp"
#include "worker/jobs/sample/sample_weights.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/vae_of_job.hpp"
#include "worker/train/checkpoint.hpp"
#include "worker/train/step_boundary.hpp"

#include <fmt/format.h>
#include <torch/types.h>

#include <chrono>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class Stopwatch {
public:
    double lap() {
        auto const now = std::chrono::steady_clock::now();
        std::chrono::duration<double> const passed = now - last_;
        last_ = now;
        return passed.count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// `given` itself, or the newest checkpoint of a run's folder or of a folder of checkpoints.
Result<fs::path> checkpoint_in(fs::path const& given) {
    std::error_code failed;
    if (fs::exists(given / "state.json", failed)) return given;
    for (fs::path const& folder : {given, protocol::RunPaths{given}.checkpoints()}) {
        auto const found = list_checkpoints(folder);
        if (!found.empty()) return found.front();
    }
    bool const folder = fs::is_directory(given, failed);
    return Error{Errc::invalid_input,
                 fmt::format("{}: {}", given.string(),
                             folder ? "no checkpoint in it (a folder step-NNNNNNNN)"
                                    : "no such checkpoint or run")};
}

/// The run that wrote the checkpoint; empty when its folder is not around it.
fs::path run_of(fs::path const& checkpoint) {
    std::error_code failed;
    fs::path const folder = fs::absolute(checkpoint, failed).lexically_normal();
    fs::path const run =
        (folder.filename().empty() ? folder.parent_path() : folder).parent_path().parent_path();
    return fs::exists(protocol::RunPaths{run}.job(), failed) ? run : fs::path();
}

/// The run's job with the autoencoder that was asked for.
Result<plan::WorkerJob> job_of(fs::path const& run, SampleRequest const& request) {
    plan::WorkerJob job;
    if (!run.empty()) {
        fs::path const file = protocol::RunPaths{run}.job();
        OSORA_TRY(auto const text, read_file(file));
        auto read = protocol::decode<plan::WorkerJob>(text);
        if (read.has_error()) return Error(read.error()).in(file.string());
        job = std::move(*read);
    }
    if (!request.vae_arch.empty()) job.config.vae.arch = request.vae_arch;
    if (!request.vae_weights.empty()) {
        std::error_code failed;
        job.config.vae.weights = fs::absolute(request.vae_weights, failed).string();
    }
    return job;
}

/// MMDiT: the embedded "" that the run trained with. Undefined if the run has no cache of captions,
/// or that is gone or has another width.
NullCaption null_of_run(plan::WorkerJob const& job, plan::ModelShape const& shape) {
    if (shape.family != plan::ModelFamily::mmdit) return {};
    auto null = cached_null(job, shape);
    return null.has_value() ? std::move(*null) : NullCaption();
}

/// Whether the run filled its captions with zeros; false if their cache is gone.
bool run_fills_text(plan::WorkerJob const& job, plan::ModelShape const& shape) {
    if (job.config.text.embeddings.empty()) return false;
    auto const cache =
        open_cache_folder(resolve(job, job.config.text.embeddings), "text.embeddings");
    return cache.has_value() && fills_text(*cache, shape);
}

/// The embedding used for no caption: STDiT3 has its own.
char const* null_name(SamplePlan const& plan, SampleCaption const& caption) {
    if (plan.shape.family != plan::ModelFamily::mmdit) return "of_the_model";
    return caption.null.text.defined() ? "cached" : "zeros";
}

Result<plan::VaeShape> vae_shape(plan::WorkerJob const& job) {
    OSORA_TRY(auto const config, vae_config_of(job));
    return plan::VaeShape{.temporal = static_cast<int>(config.temporal.factor()),
                          .spatial = static_cast<int>(config.spatial.factor()),
                          .chunk_frames = static_cast<int>(config.micro_frame_size)};
}

Result<at::Tensor> decoded(at::Tensor const& latent, SamplePlan const& plan,
                           plan::WorkerJob const& job, Device const& device, Notices& notices) {
    if (job.config.vae.weights.empty()) {
        return Error{Errc::invalid_input,
                     "a sample of latents needs the autoencoder's weights: --vae-weights FILE"};
    }
    OSORA_TRY(auto const vae, make_vae(job, device, notices));
    auto const& config = vae.config();
    auto const& shape = plan.shape;
    if (config.temporal.embed_dim != shape.in_channels ||
        config.temporal.factor() != shape.vae.temporal ||
        config.spatial.factor() != shape.vae.spatial) {
        return Error{Errc::invalid_input,
                     fmt::format("autoencoder {} has latents of {} channels and 1/{} x 1/{} "
                                 "frames and sides, {} takes {} and 1/{} x 1/{}",
                                 job.config.vae.arch, config.temporal.embed_dim,
                                 config.temporal.factor(), config.spatial.factor(), shape.arch,
                                 shape.in_channels, shape.vae.temporal, shape.vae.spatial)};
    }
    return at_step_boundary("decoding", [&]() -> Result<at::Tensor> {
        at::NoGradGuard const no_grad;
        return vae.decode(latent.to(device.torch()), plan.num_frames).x.to(at::kCPU);
    });
}

/// A GPU computes 16-bit types several times as fast; a CPU does not.
std::string precision_of(SampleRequest const& request, fs::path const& run,
                         plan::WorkerJob const& job, Device const& device) {
    if (!request.precision.empty()) return request.precision;
    if (!device.is_gpu()) return "fp32";
    return run.empty() ? "bf16" : job.plan.chosen.precision;
}

/// (1, 3, T, H, W) in [-1, 1] -> bytes.
RgbFrames frames_of(at::Tensor const& pixels) {
    at::Tensor const bytes = pixels.select(0, 0)
                                 .permute({1, 2, 3, 0})
                                 .add(1)
                                 .mul(127.5)
                                 .round()
                                 .clamp(0, 255)
                                 .to(at::kByte)
                                 .contiguous();
    RgbFrames frames;
    frames.frames = static_cast<int>(bytes.size(0));
    frames.height = static_cast<int>(bytes.size(1));
    frames.width = static_cast<int>(bytes.size(2));
    auto const* first = bytes.const_data_ptr<std::uint8_t>();
    frames.pixels.assign(first, first + bytes.numel());
    return frames;
}

/// The MP4; its folder is made.
Result<fs::path> video_path(SampleRequest const& request, fs::path const& run,
                            CheckpointState const& state) {
    fs::path path = request.out;
    if (path.extension() != ".mp4") {
        if (path.empty())
            path = run.empty() ? fs::path("samples") : protocol::RunPaths{run}.samples();
        path /= fmt::format("step-{:08d}-seed-{}.mp4", state.step, request.seed);
    }
    std::error_code failed;
    fs::path const folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    fs::create_directories(folder, failed);
    if (failed) return file_error(failed.value(), "make folder", folder);
    if (fs::is_directory(path, failed))
        return Error{Errc::invalid_input, path.string() + " is a folder"};
    return path;
}

/// RGB as the network or its autoencoder gives it.
Result<void> check_channels(at::Tensor const& pixels) {
    if (pixels.size(1) == 3) return {};
    return Error{Errc::invalid_input,
                 fmt::format("the sample has {} channels: pictures have 3", pixels.size(1))};
}

}  // namespace

Result<std::string> run_sample_command(SampleRequest const& request) {
    Stopwatch watch;
    OSORA_TRY(auto const path, checkpoint_in(request.checkpoint));
    fs::path const run = run_of(path);
    OSORA_TRY(auto const job, job_of(run, request));
    OSORA_TRY(auto const checkpoint, sample_weights(path, run, job, request));
    OSORA_TRY(auto const vae, vae_shape(job));
    OSORA_TRY(auto plan, sample_plan(request, checkpoint.state, vae));
    SampleCaption caption;
    if (!request.embeddings.empty()) {
        OSORA_TRY(caption, load_caption(request.embeddings, plan.shape));
        if (run_fills_text(job, plan.shape)) fill_caption(caption, plan.shape.text_tokens);
    }
    caption.null = null_of_run(job, plan.shape);
    OSORA_TRY(Device const device, Device::choose(cuda_module_path(), 0));
    use_kernels_of(device);
    plan.precision = precision_of(request, run, job, device);
    OSORA_TRY(auto const video, video_path(request, run, checkpoint.state));
    double const load_s = watch.lap();
    auto sampled = sample_latent(plan, checkpoint.tensors, caption, device);
    if (sampled.has_error()) return Error(sampled.error()).in(path.string());
    double const sample_s = watch.lap();
    at::Tensor pixels = *sampled;
    Notices notices;
    if (plan.is_latent()) {
        OSORA_TRY(pixels, decoded(*sampled, plan, job, device, notices));
    }
    json::array said;
    for (std::string const& each : notices) said.emplace_back(each);
    OSORA_TRY_VOID(check_channels(pixels));
    double const decode_s = watch.lap();
    RgbFrames const frames = frames_of(pixels);
    fs::path const sheet = fs::path(video).replace_extension(".png");
    OSORA_TRY(auto const written, write_mp4(video, frames, plan.fps));
    OSORA_TRY_VOID(write_png(sheet, contact_sheet(frames)));
    return json::serialize(json::object{{"schema", "osora.sample/1"},
                                        {"checkpoint", path.string()},
                                        {"arch", plan.shape.arch},
                                        {"step", checkpoint.state.step},
                                        {"weights", request.ema ? "ema" : "model"},
                                        {"caption", caption.text.defined() ? "given" : "null"},
                                        {"null_caption", null_name(plan, caption)},
                                        {"notices", std::move(said)},
                                        {"video", video.string()},
                                        {"sheet", sheet.string()},
                                        {"codec", written.codec},
                                        {"bytes", written.bytes},
                                        {"num_frames", frames.frames},
                                        {"height", frames.height},
                                        {"width", frames.width},
                                        {"fps", plan.fps},
                                        {"steps", plan.steps},
                                        {"cfg_scale", plan.cfg_scale},
                                        {"seed", plan.seed},
                                        {"precision", plan.precision},
                                        {"device", device.description()},
                                        {"load_s", load_s},
                                        {"sample_s", sample_s},
                                        {"decode_s", decode_s},
                                        {"write_s", watch.lap()}});
}

}  // namespace osora::worker
