// Sizes of STDiT2 (Open-Sora v1.1, opensora/models/stdit/stdit2.py): those of STDiT3 with other
// defaults; those of the named models are in plan/model/model_description.
#pragma once

#include "worker/model/stdit/stdit3_config.hpp"

namespace osora::worker {

struct Stdit2Config : Stdit3Config {
    Stdit2Config() {
        model_max_length = 120;
        input_sq_size = 32;
        qk_norm = false;
    }
    bool qk_norm_legacy = true;  // frames are rotated before q and k are normalised; v1.2: a choice
    friend bool operator==(Stdit2Config const&, Stdit2Config const&) = default;
};
BOOST_DESCRIBE_STRUCT(Stdit2Config, (Stdit3Config), (qk_norm_legacy))

/// For a STDiT2 of any size; q and k are normalised, as in v1.1's training.
[[nodiscard]] Result<Stdit2Config> stdit2_config(plan::ModelShape const& shape);

/// "stdit2-xl/2", "stdit2-tiny" (pixel space); not_found names the known ones.
[[nodiscard]] Result<Stdit2Config> stdit2_config(std::string_view arch);
[[nodiscard]] std::vector<std::string> stdit2_names();

/// From and to JSON as parse_stdit3_config.
[[nodiscard]] Result<Stdit2Config> parse_stdit2_config(std::string_view json);
[[nodiscard]] std::string to_json(Stdit2Config const& config);

/// As check_stdit3_config; a third of the width must be whole.
[[nodiscard]] Result<void> check_stdit2_config(Stdit2Config const& config);

}  // namespace osora::worker
