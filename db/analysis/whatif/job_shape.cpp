// yaml-cpp throws on text that is not YAML; it is caught here, at the parse boundary.
#include "db/analysis/whatif/job_shape.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <utility>

namespace osora::db::whatif {
namespace {

constexpr std::size_t kMetaBytesMax = 64 * 1024;
constexpr int kSizeMax = 1 << 20;

Result<void> read_size(YAML::Node const& root, char const* key, int& into) {
    YAML::Node const value = root[key];
    if (!value.IsDefined()) return {};
    int size = 0;
    bool const number = value.IsScalar() && YAML::convert<int>::decode(value, size);
    if (!number || size < 1 || size > kSizeMax) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: expected a number from 1 to {}", key, kSizeMax)};
    }
    into = size;
    return {};
}

Result<JobShape> read(YAML::Node const& root) {
    if (!root.IsMap()) return Error{Errc::invalid_input, "expected lines like dp_size: 8"};
    JobShape shape;
    shape.world_size = 0;
    std::array<std::pair<char const*, int*>, 6> const sizes{{{"dp_size", &shape.dp_size},
                                                             {"pp_size", &shape.pp_size},
                                                             {"tp_size", &shape.tp_size},
                                                             {"dsp_size", &shape.dsp_size},
                                                             {"vpp_size", &shape.vpp_size},
                                                             {"world_size", &shape.world_size}}};
    for (auto const& [key, into] : sizes) OSORA_TRY_VOID(read_size(root, key, *into));
    if (YAML::Node const name = root["trial_name"]; name.IsDefined() && name.IsScalar()) {
        shape.name = name.Scalar();
    }
    double const product =
        static_cast<double>(shape.dp_size) * shape.pp_size * shape.tp_size * shape.dsp_size;
    if (shape.world_size == 0 && product <= kSizeMax) shape.world_size = static_cast<int>(product);
    if (product != shape.world_size) {
        return Error{Errc::invalid_input,
                     fmt::format("world_size {} is not dp_size x pp_size x tp_size x dsp_size = {}",
                                 shape.world_size, product)};
    }
    return shape;
}

}  // namespace

Result<JobShape> read_job_shape(std::string_view yaml) {
    if (yaml.size() > kMetaBytesMax) {
        return Error{Errc::invalid_input,
                     fmt::format("{} bytes; at most {} are read", yaml.size(), kMetaBytesMax)};
    }
    try {
        return read(YAML::Load(std::string(yaml)));
    } catch (YAML::Exception const& error) {
        return Error{Errc::invalid_input,
                     fmt::format("line {}: {}", error.mark.line + 1, error.msg)};
    }
}

}  // namespace osora::db::whatif
