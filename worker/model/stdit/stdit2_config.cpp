#include "worker/model/stdit/stdit2_config.hpp"

#include "worker/model/weights/config_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace osora::worker {

std::vector<std::string> stdit2_names() {
    return names_of(plan::ModelFamily::stdit2);
}

Result<Stdit2Config> stdit2_config(plan::ModelShape const& shape) {
    if (shape.family != plan::ModelFamily::stdit2) {
        return Error{Errc::invalid_input, fmt::format("model.arch '{}': not a STDiT2", shape.arch)};
    }
    Stdit2Config config;
    take_sizes(shape, config);
    config.qk_norm = true;
    OSORA_TRY_VOID(check_stdit2_config(config));
    return config;
}

Result<Stdit2Config> stdit2_config(std::string_view arch) {
    auto const shape = plan::model_shape(arch);
    if (shape.has_value() && shape->family == plan::ModelFamily::stdit2) {
        return stdit2_config(*shape);
    }
    return Error{Errc::not_found, fmt::format("model.arch '{}': not a STDiT2; known: {}", arch,
                                              fmt::join(stdit2_names(), ", "))};
}

Result<Stdit2Config> parse_stdit2_config(std::string_view text) {
    auto read = read_config(text, Stdit2Config{}, unread_stdit_keys());
    if (read.has_error()) return std::move(read).error().in("stdit2");
    OSORA_TRY_VOID(check_off(text, "stdit2"));
    OSORA_TRY_VOID(check_stdit2_config(*read));
    return read;
}

std::string to_json(Stdit2Config const& config) {
    return config_json(config);
}

Result<void> check_stdit2_config(Stdit2Config const& config) {
    OSORA_TRY_VOID(check_stdit3_config(config, "stdit2"));
    if (config.hidden_size % 3 == 0) return {};
    return Error{Errc::not_divisible,
                 fmt::format("stdit2: hidden_size {} must divide by 3", config.hidden_size)};
}

}  // namespace osora::worker
