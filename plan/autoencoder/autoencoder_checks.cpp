#include "plan/autoencoder/autoencoder_checks.hpp"

#include "plan/layout/divisibility.hpp"
#include "plan/model/trained_model.hpp"
#include "plan/plan_context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

namespace osora::plan {
namespace {

constexpr int kJudgedFrames = 10, kJudgedPixels = 24;  // minimum for a patch of the 3-D PatchGAN
constexpr int kLpipsPixels = 16;                       // four pools

class AutoencoderChecker {
public:
    explicit AutoencoderChecker(RunConfig const& config) : config_(config) {}

    std::vector<ConfigViolation> run() {
        if (config_.run.job == "train_vae") {
            check_vae();
        } else {
            check_vqvae();
        }
        return std::move(found_);
    }

private:
    void add(std::string key, std::string message, Errc code = Errc::invalid_input) {
        found_.push_back({std::move(key), std::move(message), code});
    }

    void check_vae() {
        auto const& loss = config_.vae_loss;
        if (config_.vae.tile_sample_min_size > 0)
            add("vae.tile_sample_min_size", "training takes whole frames; valid: 0");
        if (!loss.real_rec && !loss.z_rec)
            add("vae_loss.real_rec", "nothing is trained towards: set it, or vae_loss.z_rec");
        if (!loss.real_rec && loss.adversarial_weight > 0)
            add("vae_loss.adversarial_weight", "needs vae_loss.real_rec; nearest valid: 0");
        if (!loss.real_rec) return;
        if (loss.adversarial_weight > 0) {
            least("frames", kJudgedFrames, "vae_loss.adversarial_weight needs at least");
            least("pixels", kJudgedPixels, "vae_loss.adversarial_weight needs at least");
        }
        if (!loss.lpips.empty()) least("pixels", kLpipsPixels, "vae_loss.lpips needs at least");
    }

    /// The number of frames, or the shorter side in pixels, of every bucket.
    void least(std::string_view of, int most, std::string_view why) {
        auto const shape = sample_shape(config_);
        for (std::size_t i = 0; shape && i < config_.bucket.size(); ++i) {
            auto const key = bucket_key(config_.bucket[i], *shape);
            bool const frames = of == "frames";
            if (!key || (frames ? key->num_frames : std::min(key->height, key->width)) >= most)
                continue;
            add(fmt::format("bucket[{}].{}", i, frames ? "num_frames" : "resolution"),
                fmt::format("{} {} {}", why, most, of));
        }
    }

    void check_vqvae() {
        auto const& sizes = config_.vqvae;
        power_of_two("vqvae.downsample_frames", sizes.downsample_frames);
        power_of_two("vqvae.downsample_pixels", sizes.downsample_pixels);
        if (sizes.n_hiddens % 2 != 0)
            add("vqvae.n_hiddens",
                fmt::format("must be even; nearest valid: {}, {}", sizes.n_hiddens - 1,
                            sizes.n_hiddens + 1),
                Errc::not_divisible);
        for (std::size_t i = 0; i < config_.bucket.size(); ++i)
            multiple(fmt::format("bucket[{}].num_frames", i), config_.bucket[i].num_frames);
        auto const& piece = config_.vae.micro_frame_size;
        if (!piece.is_auto()) multiple("vae.micro_frame_size", *piece.value);
        if (!config_.vae.micro_batch_size.is_auto())
            add("vae.micro_batch_size",
                "a VQ-VAE has no 2-D part: cut its clips by vae.micro_frame_size; valid: auto");
    }

    void power_of_two(std::string const& key, int value) {
        if (std::has_single_bit(static_cast<unsigned>(value))) return;
        unsigned const below = std::bit_floor(static_cast<unsigned>(value));
        add(key, fmt::format("must be a power of two; nearest valid: {}, {}", below, 2 * below),
            Errc::not_divisible);
    }

    void multiple(std::string const& key, int frames) {
        int const unit = config_.vqvae.downsample_frames;
        if (frames % unit == 0) return;
        add(key,
            fmt::format("is no multiple of vqvae.downsample_frames = {}; nearest valid: {}", unit,
                        fmt::join(nearest_multiples(unit, frames), ", ")),
            Errc::not_divisible);
    }

    RunConfig const& config_;
    std::vector<ConfigViolation> found_;
};

}  // namespace

std::vector<ConfigViolation> autoencoder_violations(RunConfig const& config) {
    return AutoencoderChecker(config).run();
}

}  // namespace osora::plan
