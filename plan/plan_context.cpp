// Looks up what a request names.
#include "plan/plan_context.hpp"

#include "base/text/units.hpp"
#include "plan/buckets/assign.hpp"
#include "plan/layout/stage_cut.hpp"
#include "plan/model/trained_model.hpp"
#include "plan/model/trained_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::plan {
namespace {

/// Without an index of the clips: pictures of 640 x 360, and half a group of pictures decoded
/// before the first wanted one.
constexpr std::int64_t kUnknownClipPixels = 640 * 360;
constexpr double kUnknownLeadIn = 12;

bool has_statistics(PlanRequest const& request, std::size_t bucket) {
    return request.clips && bucket < request.clips->buckets.size();
}

/// Seconds that one thread takes for a sample.
double decode_s(PlanRequest const& request, double pixels) {
    double const measured = request.calibration.decode_ms_per_megapixel;
    double const rate = measured > 0 ? measured : nominal_cpu().decode_ms_per_megapixel;
    return pixels / 1e6 * 1e-3 * rate;
}

/// Shares of clips if every clip fits every bucket, by keep_prob alone; equal shares if keep_prob =
/// 1 of a large bucket would leave the smaller ones none, because some real clips will not fit it.
std::vector<double> shares_by_keep_prob(RunConfig const& config, ModelShape const& shape) {
    std::vector<double> shares(config.bucket.size(), 1.0);
    auto const table = bucket_table(config, shape);
    if (!table) return shares;
    ClipShape const huge{.num_frames = 1 << 20, .height = 8192, .width = 8192};
    auto const rows = table->row_shares(huge);
    if (std::ranges::any_of(rows, [](double share) { return share <= 0; })) return shares;
    for (std::size_t i = 0; i < rows.size(); ++i) shares[table->rows()[i].source] = rows[i];
    return shares;
}

Result<void> add_bucket(PlanContext& context, PlanRequest const& request, std::size_t i) {
    OSORA_TRY(BucketKey key, bucket_key(request.config.bucket[i], context.shape));
    BucketKey peak = key;
    double decoded_pixels =
        static_cast<double>(context.clip_pixels_max) * (kUnknownLeadIn + key.num_frames);
    if (has_statistics(request, i)) {
        BucketClips const& known = request.clips->buckets[i];
        context.clips[i] = known.clips;
        if (known.height > 0 && known.width > 0) {
            key.height = known.height;
            key.width = known.width;
        }
        if (known.height_max > 0 && known.width_max > 0) {
            peak.height = known.height_max;
            peak.width = known.width_max;
        }
        if (known.decoded_pixels > 0) decoded_pixels = known.decoded_pixels;
    }
    context.keys.push_back(key);
    context.peak_keys.push_back(peak);
    context.costs.push_back(sample_cost(context.shape, key));
    context.decode_s.push_back(context.latents ? 0 : decode_s(request, decoded_pixels));
    return {};
}

/// Between all ranks, and within the groups of them that reach other nodes.
void add_network(PlanContext& context, PlanRequest const& request) {
    int const nodes = request.config.resources.nodes;
    topology::GroupShape const shape{.ranks = context.ranks, .nodes = nodes};
    using topology::Collective;
    auto const measured = [&](topology::GroupShape const& of, Collective collective) {
        return request.network ? CollectiveCurve::from_probe(request.network->result, of,
                                                             context.gpu, collective)
                               : std::nullopt;
    };
    if (auto whole = measured(shape, Collective::all_reduce)) {
        context.network.emplace(std::move(*whole), shape);
        context.network_source = request.network->source;
        int const tp = context.tp_size, pp = context.pp_size;
        int const stage = context.ranks / pp;
        int const node_shards =
            context.shard_size > 0 ? context.shard_size : context.ranks_per_node;
        for (auto const& [size, stride] : {std::pair(context.ranks, 1),
                                           {tp, 1},
                                           {context.sp_size, tp},
                                           {stage, 1},
                                           {stage / tp, tp},
                                           {node_shards, 1},
                                           {context.ranks / node_shards, node_shards}}) {
            GroupPlace const place = group_place(size, stride, context.ranks_per_node);
            if (size < 2 || !place.crosses_nodes()) continue;
            for (Collective const each : {Collective::all_reduce, Collective::all_gather,
                                          Collective::reduce_scatter, Collective::all_to_all}) {
                if (auto curve = measured(place.shape, each)) {
                    context.network->add(each, place.shape, std::move(*curve));
                }
            }
        }
    } else if (nodes > 1 && request.nominal_network) {
        context.network.emplace(*request.nominal_network, shape);
    }
}

}  // namespace

std::string PlanContext::bucket_name(std::size_t bucket) const {
    BucketSection const& section = config.bucket[bucket];
    return fmt::format("{} x {}", section.resolution, section.num_frames);
}

Result<BucketKey> bucket_key(BucketSection const& bucket, ModelShape const& shape) {
    return nominal_key({.resolution = bucket.resolution, .num_frames = bucket.num_frames},
                       shape.pixel_multiple());
}

namespace {

void add_gpus(PlanContext& context, PlanRequest const& request) {
    std::int64_t const facts = request.cluster.nodes.front().gpus.front().memory_bytes;
    double const bytes =
        facts > 0 ? static_cast<double>(facts) : request.config.memory.gpu_memory_gib * kGiB;
    context.gpu_bytes = static_cast<std::int64_t>(MemoryConstants().usable_share * bytes);
    context.gpu_memory_known = facts > 0 || request.origins.contains("memory.gpu_memory_gib");
    context.nominal_gpu = request.nominal_gpu;
    context.gpu_found = request.gpu_found;
}

std::vector<std::int64_t> ends_of(PlanContext const& context) {
    auto const& optim = context.config.optim;
    return run_ends(model_work(context.shape, context.keys, {optim.lora_rank, optim.freeze}),
                    context.pp_size * context.virtual_stages);
}

/// A stage takes part in backward passes, so that its ranks end when they have nothing to train.
Result<void> check_stages_train(PlanContext const& context) {
    auto const& optim = context.config.optim;
    if (optim.lora_rank > 0 || optim.freeze.empty()) return {};
    auto const stages =
        parameters_of_stages(context.shape, optim.freeze, context.run_ends, context.pp_size);
    auto const idle = std::ranges::find(stages, 0, &BlockParameters::trained);
    if (idle == stages.end()) return {};
    return Error{Errc::invalid_input,
                 fmt::format("parallel.pp_size = {}: optim.freeze leaves stage {} nothing to "
                             "train; choose a smaller pp_size, or another optim.freeze",
                             context.pp_size, idle - stages.begin())};
}

}  // namespace

Result<PlanContext> plan_context(PlanRequest const& request) {
    PlanContext context;
    context.config = request.config;
    OSORA_TRY(context.shape, sample_shape(request.config));
    if (request.latents) context.shape.vae = *request.latents;
    context.latents = request.latents.has_value();
    context.calibration = request.calibration;
    if (auto const checked = check_calibration(request.calibration); checked.has_error()) {
        return checked.error();
    }
    MemoryConstants const constants;
    context.ranks_per_node = request.config.resources.gpus_per_node;
    context.ranks = request.config.resources.nodes * context.ranks_per_node;
    context.sp_size = std::max(1, request.config.parallel.sp_size.value_or(1));
    context.pp_size = std::max(1, request.config.parallel.pp_size.value_or(1));
    context.virtual_stages = request.config.parallel.virtual_stages;
    context.eager =
        context.pp_size > 1 && request.config.parallel.pp_schedule.value_or(k1f1b) == kEager1f1b;
    context.tp_size = std::max(1, request.config.parallel.tp_size.value_or(1));
    context.sp_kind = sp_kind_of(request.config.parallel.sp_kind.value_or("auto"),
                                 context.shape.heads, context.tp_size, context.sp_size);
    if (!request.cluster.nodes.empty()) {
        topology::Node const& node = request.cluster.nodes.front();
        // Of all nodes, as `ranks`; only a rank's share matters. The other nodes are assumed to be
        // like this one.
        context.cores = std::max(1, node.cores) * request.config.resources.nodes;
        context.gpu = !node.gpus.empty();
        context.host_bytes = static_cast<std::int64_t>(constants.usable_share *
                                                       static_cast<double>(node.memory_bytes));
    }
    // A default that the user did not write adapts: most CPUs have no bf16 units.
    bool const adapts = !context.gpu && !request.origins.contains("optim.precision");
    context.zero_stage = request.zero_stage_min;
    context.least_memory = request.least_memory;
    context.shard_size = request.config.parallel.shard_size.value_or(0);
    if (context.shard_size >= context.ranks) context.shard_size = 0;
    context.settled_batch = request.global_batch_size;
    context.precision = adapts ? "fp32" : request.config.optim.precision;
    context.reduce_dtype = request.config.parallel.reduce_dtype.value_or(context.precision);
    if (context.gpu) add_gpus(context, request);
    add_network(context, request);
    context.past_errors = request.past_errors;
    if (!request.measured_passes.empty()) {
        context.measured.emplace(request.measured_passes,
                                 StepQuery{.shape = context.shape,
                                           .precision = context.precision,
                                           .reduce_dtype = context.reduce_dtype,
                                           .lora_rank = request.config.optim.lora_rank,
                                           .freeze = request.config.optim.freeze,
                                           .gpu = context.gpu},
                                 context.calibration);
    }
    context.network_known = request.config.resources.nodes < 2 || context.network.has_value();
    std::int64_t const largest = request.clips ? request.clips->clip_pixels_max : 0;
    context.clip_pixels_max = largest > 0 ? largest : kUnknownClipPixels;
    context.clips_known = request.clips.has_value();
    context.clips = shares_by_keep_prob(request.config, context.shape);
    for (std::size_t i = 0; i < request.config.bucket.size(); ++i) {
        OSORA_TRY_VOID(add_bucket(context, request, i));
    }
    if (context.pp_size > 1) {
        context.run_ends = ends_of(context);
        OSORA_TRY_VOID(check_stages_train(context));
    }
    bool const any = std::ranges::any_of(context.clips, [](double clips) { return clips > 0; });
    if (!any && !context.clips.empty()) {
        return Error{Errc::not_found, "no clip of the manifest fits a bucket: make one smaller"};
    }
    return context;
}

}  // namespace osora::plan
