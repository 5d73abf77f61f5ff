// [vae_loss] of the run file: the loss of job = "train_vae". The defaults are the last stage of
// Open-Sora v1.2 (configs/vae/train/stage3.py).
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct VaeLossSection {
    bool real_rec = true;         // frames compared with frames, and the KL divergence
    bool z_rec = false;           // 2-D latents compared with those after the temporal part
    bool image_identity = false;  // for images: latents compared with 2-D latents
    bool freeze_2d = false;
    std::string mixed = "none";  // image: some steps see the first frame only; random: 1 to all
    double mixed_image_ratio = 0.2;
    double kl_weight = 1e-6;
    double perceptual_weight = 0.1;
    std::string lpips;  // weights of VGG16 and LPIPS; empty: no perceptual term
    double logvar = 0;  // of the reconstruction error
    double adversarial_weight = 0;
    int adversarial_start = 0;  // step
};
BOOST_DESCRIBE_STRUCT(VaeLossSection, (),
                      (real_rec, z_rec, image_identity, freeze_2d, mixed, mixed_image_ratio,
                       kl_weight, perceptual_weight, lpips, logvar, adversarial_weight,
                       adversarial_start))

}  // namespace osora::plan
