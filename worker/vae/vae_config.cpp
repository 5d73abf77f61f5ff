#include "worker/vae/vae_config.hpp"

#include "worker/vae/tiling.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace osora::worker {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLimit = 1 << 20;  // keeps every product of two sizes far from overflow
constexpr std::size_t kMostLevels = 16;

Error invalid(std::string message) {
    return Error{Errc::invalid_input, "vae: " + std::move(message)};
}

/// Reads one field into its member.
template <class Config>
using Readers =
    std::map<std::string, std::function<Result<void>(json::value const&, Config&)>, std::less<>>;

template <class Config, class T>
auto reader(T Config::*member) {
    return [member](json::value const& value, Config& config) -> Result<void> {
        auto const got = json::try_value_to<T>(value);
        if (!got) return Error{Errc::invalid_input, "wrong type or out of range"};
        config.*member = *got;
        return {};
    };
}

/// null: everything at once.
auto micro_reader(std::int64_t VaePipelineConfig::*member) {
    return [member](json::value const& value, VaePipelineConfig& config) -> Result<void> {
        if (!value.is_null()) return reader(member)(value, config);
        config.*member = 0;
        return {};
    };
}

/// A list that only ever names this block.
auto only(std::string name) {
    return [name](json::value const& value, SpatialVaeConfig&) -> Result<void> {
        auto const* list = value.if_array();
        if (list != nullptr && std::ranges::all_of(*list, [&](auto const& entry) {
                return entry.is_string() && entry.get_string() == name;
            }))
            return {};
        return Error{Errc::invalid_input, "only " + name + " is known"};
    };
}

template <class Config>
Result<Config> read_object(json::value const& value, Readers<Config> const& known) {
    auto const* object = value.if_object();
    if (object == nullptr) return Error{Errc::invalid_input, "not a JSON object"};
    Config config;
    for (auto const& [key, field] : *object) {
        auto const found = known.find(std::string_view(key));
        if (found == known.end())
            return Error{Errc::invalid_input,
                         fmt::format("unknown key '{}'", std::string_view(key))};
        if (auto read = found->second(field, config); read.has_error())
            return std::move(read).error().in(found->first);
    }
    return config;
}

template <class Part>
auto part_reader(Part VaePipelineConfig::*member, Result<Part> (*read)(json::value const&)) {
    return [member, read](json::value const& value, VaePipelineConfig& config) -> Result<void> {
        OSORA_TRY(config.*member, read(value));
        return {};
    };
}

Result<SpatialVaeConfig> read_spatial(json::value const& value) {
    using Config = SpatialVaeConfig;
    return read_object<Config>(value, {{"in_channels", reader(&Config::in_channels)},
                                       {"out_channels", reader(&Config::out_channels)},
                                       {"down_block_types", only("DownEncoderBlock2D")},
                                       {"up_block_types", only("UpDecoderBlock2D")},
                                       {"block_out_channels", reader(&Config::block_out_channels)},
                                       {"layers_per_block", reader(&Config::layers_per_block)},
                                       {"latent_channels", reader(&Config::latent_channels)},
                                       {"norm_num_groups", reader(&Config::norm_num_groups)}});
}

Result<TemporalVaeConfig> read_temporal(json::value const& value) {
    using Config = TemporalVaeConfig;
    return read_object<Config>(value,
                               {{"in_out_channels", reader(&Config::in_out_channels)},
                                {"latent_embed_dim", reader(&Config::latent_embed_dim)},
                                {"embed_dim", reader(&Config::embed_dim)},
                                {"filters", reader(&Config::filters)},
                                {"num_res_blocks", reader(&Config::num_res_blocks)},
                                {"channel_multipliers", reader(&Config::channel_multipliers)},
                                {"temporal_downsample", reader(&Config::temporal_downsample)},
                                {"num_groups", reader(&Config::num_groups)}});
}

Result<VaePipelineConfig> read_pipeline(json::value const& value) {
    using Config = VaePipelineConfig;
    return read_object<Config>(value,
                               {{"spatial", part_reader(&Config::spatial, read_spatial)},
                                {"temporal", part_reader(&Config::temporal, read_temporal)},
                                {"micro_batch_size", micro_reader(&Config::micro_batch_size)},
                                {"micro_frame_size", micro_reader(&Config::micro_frame_size)},
                                {"z_scale_2d", reader(&Config::z_scale_2d)},
                                {"freeze_vae_2d", reader(&Config::freeze_vae_2d)},
                                {"tile_sample_min_size", reader(&Config::tile_sample_min_size)},
                                {"tile_overlap_factor", reader(&Config::tile_overlap_factor)}});
}

/// Parses and checks a configuration; the message names the part.
template <class Config>
Result<Config> parse(std::string_view text, Result<Config> (*read)(json::value const&)) {
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed) return invalid("config: " + failed.message());
    auto config = read(value);
    if (config.has_error()) return std::move(config).error().in("vae: config");
    OSORA_TRY_VOID(check_vae_config(*config));
    return config;
}

Result<void> in_range(std::initializer_list<std::pair<char const*, std::int64_t>> sizes,
                      std::int64_t least = 1) {
    for (auto const& [name, value] : sizes)
        if (value < least || value > kLimit)
            return invalid(fmt::format("{} = {}: must be in [{}, {}]", name, value, least, kLimit));
    return {};
}

/// GroupNorm splits the channels of every level.
Result<void> divisible(std::int64_t channels, std::int64_t groups) {
    if (channels % groups == 0) return {};
    return Error{Errc::not_divisible,
                 fmt::format("vae: {} channels % {} groups != 0", channels, groups)};
}

Result<void> check_levels(std::vector<std::int64_t> const& levels, char const* name) {
    if (levels.empty() || levels.size() > kMostLevels)
        return invalid(
            fmt::format("{}: {} levels, must be 1 to {}", name, levels.size(), kMostLevels));
    for (std::int64_t const value : levels) OSORA_TRY_VOID(in_range({{name, value}}));
    return {};
}

}  // namespace

Result<void> check_vae_config(SpatialVaeConfig const& config) {
    OSORA_TRY_VOID(in_range({{"in_channels", config.in_channels},
                             {"out_channels", config.out_channels},
                             {"layers_per_block", config.layers_per_block},
                             {"latent_channels", config.latent_channels},
                             {"norm_num_groups", config.norm_num_groups}}));
    OSORA_TRY_VOID(check_levels(config.block_out_channels, "block_out_channels"));
    for (std::int64_t const channels : config.block_out_channels)
        OSORA_TRY_VOID(divisible(channels, config.norm_num_groups));
    return {};
}

Result<void> check_vae_config(TemporalVaeConfig const& config) {
    OSORA_TRY_VOID(in_range({{"in_out_channels", config.in_out_channels},
                             {"latent_embed_dim", config.latent_embed_dim},
                             {"embed_dim", config.embed_dim},
                             {"filters", config.filters},
                             {"num_res_blocks", config.num_res_blocks},
                             {"num_groups", config.num_groups}}));
    OSORA_TRY_VOID(check_levels(config.channel_multipliers, "channel_multipliers"));
    for (std::int64_t const multiplier : config.channel_multipliers)
        OSORA_TRY_VOID(divisible(config.filters * multiplier, config.num_groups));
    if (config.temporal_downsample.size() + 1 != config.channel_multipliers.size())
        return invalid(
            fmt::format("temporal_downsample has {} entries, must have {}: one less "
                        "than channel_multipliers",
                        config.temporal_downsample.size(), config.channel_multipliers.size() - 1));
    return {};
}

Result<void> check_vae_config(VaePipelineConfig const& config) {
    OSORA_TRY_VOID(check_vae_config(config.spatial));
    OSORA_TRY_VOID(check_vae_config(config.temporal));
    OSORA_TRY_VOID(in_range({{"micro_batch_size", config.micro_batch_size},
                             {"micro_frame_size", config.micro_frame_size}},
                            0));
    if (config.tile_sample_min_size != 0)
        OSORA_TRY_VOID(check_tiling({config.tile_sample_min_size, config.tile_overlap_factor},
                                    config.spatial.factor()));
    if (!(config.z_scale_2d > 0))
        return invalid(fmt::format("z_scale_2d = {}: must be above 0", config.z_scale_2d));
    if (config.temporal.in_out_channels != config.spatial.latent_channels)
        return invalid(fmt::format("the temporal VAE takes {} channels, the 2-D VAE gives {}",
                                   config.temporal.in_out_channels,
                                   config.spatial.latent_channels));
    return {};
}

Result<SpatialVaeConfig> parse_spatial_vae_config(std::string_view text) {
    return parse(text, read_spatial);
}

Result<TemporalVaeConfig> parse_temporal_vae_config(std::string_view text) {
    return parse(text, read_temporal);
}

Result<VaePipelineConfig> parse_vae_pipeline_config(std::string_view text) {
    return parse(text, read_pipeline);
}

}  // namespace osora::worker
