#include "plan/step_communication.hpp"

#include "base/text/units.hpp"
#include "plan/layout/stage_cut.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/trained_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace osora::plan {

using topology::Collective;

namespace {

/// Share of a collective that backward can hide: Gloo's threads need cores, NCCL's kernels SMs.
constexpr double kOverlapSpare = 0.9, kOverlapNoSpare = 0.5;

/// One all_reduce, and how much of that time needs a processor: all of it between the ranks of a
/// node; over a network, the time of the same bytes within one.
struct ReduceTime {
    double seconds = 0, processor_share = 1;
};
ReduceTime reduce_time(StepQuery const& query, Calibration const& calibration,
                       GroupPlace const& place, double bytes) {
    double const local = all_reduce_s(calibration.all_reduce, place.shape.ranks, bytes);
    if (query.network == nullptr || !place.crosses_nodes()) {
        return {core_sharing(query) * local, 1};
    }
    double const seconds = query.network->seconds(Collective::all_reduce, place, bytes);
    return {seconds, std::min(1.0, local / seconds)};
}

/// An all_gather whose result has `bytes`, or a reduce_scatter or all_to_all of `bytes` per rank:
/// half of an all_reduce within a node.
ReduceTime half_time(StepQuery const& query, Calibration const& calibration, Collective collective,
                     GroupPlace const& place, double bytes) {
    double const local = all_reduce_s(calibration.all_reduce, place.shape.ranks, bytes) / 2;
    if (query.network == nullptr || !place.crosses_nodes()) {
        return {core_sharing(query) * local, 1};
    }
    double const seconds = query.network->seconds(collective, place, bytes);
    return {seconds, std::min(1.0, local / seconds)};
}

/// Gradients of a bucket become sums on the ranks that need them, with ZeRO weights afterwards
/// become whole. Gloo ranks exchange their contributions and add them (worker/parallel).
ReduceTime sum_time(StepQuery const& query, Calibration const& calibration, GroupPlace const& place,
                    double bytes) {
    if (query.zero_stage == 0) return reduce_time(query, calibration, place, bytes);
    Collective const scatter = query.gpu ? Collective::reduce_scatter : Collective::all_to_all;
    ReduceTime sum = half_time(query, calibration, scatter, place, bytes);
    sum.seconds += half_time(query, calibration, Collective::all_gather, place, bytes).seconds;
    return sum;
}

/// Bytes exchanged for a gradient and for a weight, on average.
double exchanged_bytes(StepQuery const& query) {
    auto const of = [](std::string const& type) { return type == "fp32" ? 4.0 : 2.0; };
    double const gradient =
        query.reduce_dtype.empty() ? value_bytes(query) : of(query.reduce_dtype);
    // An all_reduce sends its sums in the type of the gradients.
    return query.zero_stage == 0 ? gradient : (gradient + value_bytes(query)) / 2;
}

/// Gradients that the same ranks sum.
struct SummedPart {
    double numbers = 0;  // of this rank
    GroupPlace place;
};
/// Of the stage that trains most, or of the whole network.
BlockParameters largest_stage(StepQuery const& query) {
    auto const ends =
        ends_or(query.run_ends, query.shape, query.bucket, query.pp_size * query.virtual_stages,
                {query.lora_rank, query.freeze});
    auto stages = parameters_of_stages(query.shape, query.freeze, ends, query.pp_size);
    for (BlockParameters& each : stages) each = with_adapters(each, query.lora_rank);
    return std::ranges::max(stages, {}, &BlockParameters::trained);
}

/// As worker/parallel/sharding/layer_parallel cuts them: what every rank of a stage has, and slices
/// of linear layers.
std::vector<SummedPart> summed_parts(StepQuery const& query) {
    auto const all =
        static_cast<double>(trained_parameters(query.shape, query.lora_rank, query.freeze));
    auto const group = [&](int size, int stride) {
        return group_place(size, stride, query.ranks_per_node);
    };
    int const ranks = query.ranks(), tp = query.tp_size, pp = query.pp_size;
    if (query.zero_stage > 0 && query.shards() < ranks) return {{all, group(query.shards(), 1)}};
    if (tp * pp == 1) return {{all, group(ranks, 1)}};
    BlockParameters const of_rank = largest_stage(query);
    double const sliced = tp > 1 ? static_cast<double>(of_rank.shared_trained) : 0;
    return {{static_cast<double>(of_rank.trained) - sliced, group(ranks / pp, 1)},
            {sliced / tp, group(ranks / (tp * pp), tp)}};
}

}  // namespace

int value_bytes(StepQuery const& query) {
    return query.precision == "fp32" ? 4 : 2;
}

double trained_numbers(StepQuery const& query) {
    auto const all =
        static_cast<double>(trained_parameters(query.shape, query.lora_rank, query.freeze));
    if (query.tp_size * query.pp_size == 1) return all;
    BlockParameters const of_rank = largest_stage(query);
    auto const shared = static_cast<double>(of_rank.shared_trained);
    return static_cast<double>(of_rank.trained) - shared + shared / query.tp_size;
}

namespace {

/// One hop of a ring, in which every rank sends and receives `bytes` at the same time. Over a
/// network one rank of a group sends to the next node.
double hop_s(StepQuery const& query, Calibration const& calibration, GroupPlace const& place,
             double bytes) {
    double const within =
        core_sharing(query) * all_reduce_s(calibration.all_reduce, 2, 2 * bytes) / 2;
    if (query.network == nullptr || !place.crosses_nodes()) return within;
    return std::max(within, query.network->hop_s(place, bytes));
}

/// Share of the layers whose attention runs again in backward, and exchanges its tokens again.
double attention_again(StepQuery const& query) {
    auto const choice = checked_recompute(query.activations.recompute);
    if (choice.attention) return 1;
    auto const blocks = static_cast<double>(query.shape.blocks());
    return std::min(static_cast<double>(choice.first_blocks), blocks) / blocks;
}

/// One layer of attention in a ring, in a pass: hops that the present block's attention does
/// not hide. Forward passes keys and values on; backward does so again, and passes their gradients
/// on in fp32, the last of them after all attention. `values` of queries, for `keys` keys each.
double ring_s(StepQuery const& query, Calibration const& calibration, GroupPlace const& place,
              double values, double keys) {
    bool const spare = query.gpu || query.cores > query.ranks() * query.threads;
    double const share = spare ? kOverlapSpare : kOverlapNoSpare;
    int const threads = query.gpu ? 1 : query.threads;
    double const rate = matmul_gflops(calibration, threads, query.shape.hidden) * 1e9;
    // Scores and their sums, of this rank's queries and a block of the keys.
    double const forward_s = core_sharing(query) * 4 * values * keys / query.sp_size / rate;
    auto const step = [&](bool with_keys, bool with_gradients, double work_s) {
        double hops = 0;
        if (with_keys) hops += hop_s(query, calibration, place, 2 * values * value_bytes(query));
        if (with_gradients) hops += hop_s(query, calibration, place, 2 * values * 4);
        return hops - share * std::min(hops, work_s);
    };
    double seconds =
        (1 + attention_again(query)) * (query.sp_size - 1) * step(true, false, forward_s);
    for (int i = 0; i < query.sp_size; ++i)
        seconds += step(i + 1 < query.sp_size, i > 1, 2 * forward_s);
    return seconds + step(false, true, 0);
}

}  // namespace

double token_exchange_s(StepQuery const& query, Calibration const& calibration) {
    if (query.sp_size == 1) return 0;
    ModelShape const& shape = query.shape;
    bool const joint = shape.family == ModelFamily::mmdit;  // text and image attend together
    double const tokens = static_cast<double>(sample_cost(shape, query.bucket).tokens()) +
                          (joint ? shape.text_tokens : 0);
    double const samples = query.micro_batch_size;
    double const values = samples * tokens * shape.hidden / (query.sp_size * query.tp_size);
    int const layers = joint ? shape.blocks() : shape.depth;
    GroupPlace const place = group_place(query.sp_size, query.tp_size, query.ranks_per_node);
    auto const time_s = [&](Collective collective, double bytes) {
        return half_time(query, calibration, collective, place, bytes).seconds;
    };
    double const output = samples * tokens * shape.patch_volume() * shape.out_channels();
    double const gather_s = time_s(Collective::all_gather, output * value_bytes(query));
    if (query.sp_kind == SpKind::ring) {
        auto const in_frame =
            static_cast<double>(sample_cost(shape, query.bucket).tokens_per_frame);
        return layers * ring_s(query, calibration, place, values, joint ? tokens : in_frame) +
               gather_s;
    }
    double const times = 4 + 2 * attention_again(query);
    return times * layers * time_s(Collective::all_to_all, 2 * values * value_bytes(query)) +
           gather_s;
}

double layer_exchange_s(StepQuery const& query, Calibration const& calibration) {
    if (query.tp_size == 1) return 0;
    ModelShape const& shape = query.shape;
    bool const joint = shape.family == ModelFamily::mmdit;
    double const tokens = static_cast<double>(sample_cost(shape, query.bucket).tokens()) +
                          (joint ? shape.text_tokens : 0);
    double const bytes =
        query.micro_batch_size * tokens / query.sp_size * shape.hidden * value_bytes(query);
    // Self-attention, cross-attention, MLP; a double block of MMDiT has two separate streams.
    double const pairs = joint ? 2 * shape.depth + shape.single_depth
                               : (shape.family == ModelFamily::stdit2 ? 4 : 3) * shape.blocks();
    double const again =
        1 +
        recomputed_share(shape, sample_cost(shape, query.bucket), query.activations.recompute) / 2;
    GroupPlace const place = group_place(query.tp_size, 1, query.ranks_per_node);
    auto const time_s = [&](Collective collective) {
        return half_time(query, calibration, collective, place, bytes).seconds;
    };
    return again * 2 * pairs * (time_s(Collective::all_gather) + time_s(Collective::all_to_all));
}

double stage_transfer_s(StepQuery const& query, Calibration const& calibration) {
    if (query.pp_size == 1) return 0;
    ModelShape const& shape = query.shape;
    double const tokens = static_cast<double>(sample_cost(shape, query.bucket).tokens()) +
                          (shape.family == ModelFamily::mmdit ? shape.text_tokens : 0);
    double const bytes = query.micro_batch_size * tokens / (query.sp_size * query.tp_size) *
                         shape.hidden * value_bytes(query);
    // Conditions follow the tokens in a message of their own, whole on each rank.
    double const conditions = condition_values(shape, query.micro_batch_size) * value_bytes(query);
    GroupPlace const place =
        group_place(query.pp_size, query.ranks() / query.pp_size, query.ranks_per_node);
    // There and back.
    auto const message_s = [&](double size) {
        double const within = core_sharing(query) * all_reduce_s(calibration.all_reduce, 2, size);
        if (query.network == nullptr || !query.stages_cross_nodes()) return within;
        return std::max(within, 2 * query.network->hop_s(place, size));
    };
    return message_s(bytes) + message_s(conditions);
}

double all_reduce_s(AllReduceFit const& fit, int ranks, double bytes) {
    if (ranks < 2) return 0;
    // A ring of n ranks: t = 2 (n - 1) (alpha + S / (n B)).
    double const hops = 2.0 * (fit.ranks - 1);
    double const alpha = fit.a_s / hops;
    double const per_byte = fit.b_s_per_byte * fit.ranks / hops;
    return 2.0 * (ranks - 1) * (alpha + bytes / ranks * per_byte);
}

namespace {

/// Between copies of what ZeRO divides: each rank's part of the gradients, in fp32, once a step.
double exposed_between_copies_s(StepQuery const& query, Calibration const& calibration,
                                double backward_s) {
    if (query.zero_stage == 0 || query.shards() >= query.ranks()) return 0;
    double const numbers = trained_numbers(query);
    double const bucket_bytes = query.grad_bucket_mib * static_cast<double>(kMiB);
    double const buckets =
        std::max(1.0, std::ceil(exchanged_bytes(query) * numbers / bucket_bytes));
    GroupPlace const place =
        group_place(query.ranks() / query.shards(), query.shards(), query.ranks_per_node);
    double const bytes = 4.0 * numbers / query.shards();
    double const one = reduce_time(query, calibration, place, bytes / buckets).seconds;
    bool const overlaps = query.overlap && !query.per_parameter;
    bool const spare = query.gpu || query.cores > query.ranks() * query.threads;
    double const share = spare ? kOverlapSpare : kOverlapNoSpare;
    double const hidden = overlaps ? std::min(share * (buckets - 1) * one, backward_s) : 0;
    return buckets * one - hidden;
}

double exposed_in_groups_s(StepQuery const& query, Calibration const& calibration,
                           double backward_s) {
    if (query.ranks() == 1) return 0;
    double const bucket_bytes = query.grad_bucket_mib * static_cast<double>(kMiB);
    double const tensors = static_cast<double>(parameter_count(query.shape).tensors);
    double const numbers = trained_numbers(query);
    double all = 0, early = 0, on_processor = 0;
    bool overlaps = query.overlap && !query.per_parameter;
    for (SummedPart const& part : summed_parts(query)) {
        if (part.numbers <= 0 || part.place.shape.ranks < 2) continue;
        double const bytes = exchanged_bytes(query) * part.numbers;
        double const buckets = query.per_parameter ? std::max(1.0, tensors * part.numbers / numbers)
                                                   : std::max(1.0, std::ceil(bytes / bucket_bytes));
        ReduceTime const one = sum_time(query, calibration, part.place, bytes / buckets);
        double const barriers =
            query.per_parameter ? 2 * reduce_time(query, calibration, part.place, 0).seconds : 0;
        all += buckets * one.seconds + barriers;
        // The last bucket is full only when backward ends (the first is needed when forward
        // begins).
        early += (buckets - 1) * one.seconds;
        on_processor += buckets * one.seconds * one.processor_share;
    }
    if (all <= 0) return 0;
    if (!overlaps || early <= 0) {
        double const halves = query.zero_stage < 2    ? 2
                              : query.zero_stage == 2 ? query.grad_accum_steps + 1
                                                      : 3 * query.grad_accum_steps;
        return all / 2 * halves;
    }
    bool const spare = query.gpu || query.cores > query.ranks() * query.threads;
    double const hidden_share =
        1 - on_processor / all * (1 - (spare ? kOverlapSpare : kOverlapNoSpare));
    double const early_share = early / all;
    auto const exposed = [&](double half, double work_s) {
        return half - early_share * std::min(hidden_share * half, work_s);
    };
    if (query.zero_stage == 0) return exposed(all, backward_s);
    double const forward_s = backward_s / kBackwardShare * (1 - kBackwardShare);
    double const scatter = exposed(all / 2, backward_s), gather = exposed(all / 2, forward_s);
    int const passes = query.grad_accum_steps;
    if (query.zero_stage == 1) return scatter + gather;
    if (query.zero_stage == 2) return passes * scatter + gather;
    return passes * (exposed(all, backward_s) + gather);
}

}  // namespace

double exposed_comm_s(StepQuery const& query, Calibration const& calibration, double backward_s) {
    return exposed_in_groups_s(query, calibration, backward_s) +
           exposed_between_copies_s(query, calibration, backward_s);
}

}  // namespace osora::plan
