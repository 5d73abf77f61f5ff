// Combines the parts of a step: blocks on a GPU that a processor feeds, collectives, the pipeline,
// the optimizer.
#include "plan/evaluate/evaluate.hpp"

#include "plan/evaluate/collective_cost.hpp"
#include "plan/evaluate/work_time.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

constexpr double kBackwardOperators = 1.6;  // relative to a forward pass

/// Seconds of one micro-batch on a stage without embedding and logits.
struct StageTime {
    double forward_s = 0, backward_s = 0;  // on the GPU; backward includes recomputation
    double launch_s = 0;                   // added by the processor
    double tp_s = 0, sp_s = 0, pp_s = 0;
    [[nodiscard]] double total_s() const {
        return forward_s + backward_s + launch_s + tp_s + sp_s + pp_s;
    }
};

/// One tensor parallel sum.
double tp_reduce_s(EvaluateRow const& row, Links const& links, double bytes) {
    RankGroup const group = rank_group(row.layout.tp_size, 1, row.linked_gpus());
    if (row.layout.sequence_parallel) return 2 * links.gather_s(group, bytes);
    return links.all_reduce_s(group, bytes);
}

/// Time that the processor adds to `gpu_s`: they run concurrently, and one waits only when it runs
/// out of work.
double launch_s(EvaluateRow const& row, double gpu_s, double processor_s) {
    double const p = row.constants.launch_sharpness;
    double const slower = std::max(gpu_s, processor_s);
    return slower *
               std::pow(std::pow(gpu_s / slower, p) + std::pow(processor_s / slower, p), 1 / p) -
           gpu_s;
}

StageTime stage_time(EvaluateRow const& row, ModelWork const& work, Links const& links) {
    RowLayout const& layout = row.layout;
    BlockWork const& block = work.block;
    auto const stages = static_cast<double>(layout.pp_size);
    // Video models may have one block more on some stages.
    double const blocks = row.arch ? std::ceil(work.blocks / stages) : work.blocks / stages;
    double const again = work.recomputed_blocks / work.blocks;
    double const again_s =
        again * block.forward_s() + (work.recomputes_attention ? block.attention_s : 0);
    double const gpu = block.forward_s() + block.backward_s() + again_s;
    double const passes = 2 + again;  // forward, backward, recomputed forward
    double const reduces = passes * block.tp_reduces;
    double const tp = reduces > 0 ? reduces * tp_reduce_s(row, links, block.tp_bytes) : 0;
    // Ranks with slow processors keep the others waiting in each sum.
    auto const peers = static_cast<double>(layout.tp_size - 1);
    double const waits = reduces * row.constants.sync_us * peers * peers;
    double const processor = 1e-6 * (row.hardware.launch_share * row.constants.launch_us *
                                         block.operators * (1 + kBackwardOperators + again) +
                                     waits);
    StageTime stage;
    stage.forward_s = blocks * block.forward_s();
    stage.backward_s = blocks * (block.backward_s() + again_s);
    stage.tp_s = blocks * tp;
    stage.launch_s = blocks * launch_s(row, gpu + tp, processor);
    if (block.sp_trades > 0) {
        RankGroup const group = rank_group(layout.sp_size, layout.tp_size, row.linked_gpus());
        double const reached = row.arch ? row.constants.dit_sp_efficiency : 1;
        stage.sp_s =
            blocks * passes * block.sp_trades * links.all_to_all_s(group, block.sp_bytes) / reached;
    }
    if (layout.pp_size > 1) {
        std::int64_t const stride = row.world_size() / layout.pp_size;
        // Each tensor parallel rank sends its slice over a separate NIC (arXiv 2104.04473, 4.1).
        bool const across = stride >= row.linked_gpus();
        double const slices = across ? static_cast<double>(layout.tp_size) : 1;
        stage.pp_s = 2 * static_cast<double>(layout.virtual_stages) *
                     links.message_s(stride, work.boundary_bytes / slices);
    }
    return stage;
}

/// Parameters of the fullest rank before ZeRO.
double own_parameters(EvaluateRow const& row, ModelWork const& work) {
    auto const tp = static_cast<double>(row.layout.tp_size);
    auto const pp = static_cast<double>(row.layout.pp_size);
    return (work.blocks * work.block_parameters / pp + work.outer_parameters) / tp;
}

struct DataParallel {
    double comm_s = 0, exposed_s = 0, slowdown_s = 0;
};

/// The part of `comm_s` that a window of computing does not hide: the first of `pieces` cannot be
/// hidden.
double exposed_of(EvaluateRow const& row, double comm_s, double window_s, double pieces) {
    double const behind = comm_s - row.constants.overlap_share * window_s;
    return std::min(comm_s, std::max(0.0, behind) + comm_s / pieces);
}

DataParallel data_parallel(EvaluateRow const& row, ModelWork const& work, StageTime const& stage) {
    RowLayout const& layout = row.layout;
    if (layout.replicas() == 1) return {};
    Links const links(row);
    RankGroup const group = rank_group(layout.replicas(), layout.tp_size, row.linked_gpus());
    double const parameters = own_parameters(row, work);
    double const trained = parameters * work.trained_share;
    auto const micro_batches = static_cast<double>(layout.grad_accum_steps);
    double const gradient = trained * (layout.precision == "fp32" ? 4 : row.constants.grad_bytes);
    DataParallel found;
    if (layout.zero_stage == 0) {
        found.comm_s = found.exposed_s = links.all_reduce_s(group, gradient);
        return found;
    }
    double const pieces = std::max(1.0, work.blocks / static_cast<double>(layout.pp_size));
    auto const gather_s = [&](double bytes) {
        return layout.zero_stage == 1 ? links.stepped_gather_s(group, bytes)
                                      : links.gather_s(group, bytes);
    };
    double const scatter = pieces * gather_s(gradient / pieces);
    double const gathered = layout.zero_stage == 3 ? parameters : trained;
    double const gather = pieces * gather_s(gathered * layout.value_bytes() / pieces);
    // A pipeline keeps its gradients until the last micro-batch (arXiv 2407.21783, 3.3.2).
    bool const each_time = layout.zero_stage >= 2 && layout.pp_size == 1;
    double const scatters = each_time ? micro_batches : 1;
    double const gathers = layout.zero_stage == 3 ? micro_batches : 1;
    double const again = layout.zero_stage == 3 ? gather : 0;  // backward gathers them again
    found.comm_s = scatters * (scatter + again) + gathers * gather;
    // Backward takes twice as long as forward, plus recomputation.
    double const busy = stage.forward_s + stage.backward_s + stage.launch_s;
    double const forward = busy / (3 + work.recomputed_blocks / work.blocks);
    found.exposed_s = scatters * exposed_of(row, scatter + again, busy - forward, pieces) +
                      gathers * exposed_of(row, gather, forward, pieces);
    found.slowdown_s = row.constants.overlap_slowdown * (found.comm_s - found.exposed_s);
    return found;
}

double optimizer_s(EvaluateRow const& row, ModelWork const& work) {
    double const shards =
        row.layout.zero_stage >= 1 ? static_cast<double>(row.layout.replicas()) : 1;
    return 1e-3 * row.constants.step_overhead_ms + own_parameters(row, work) * work.trained_share *
                                                       row.constants.optimizer_bytes / shards /
                                                       rates_of(row).memory_bytes;
}

void scale(StepParts& parts, double by) {
    for (double* each : {&parts.compute_s, &parts.encoder_s, &parts.tp_comm_s, &parts.sp_comm_s,
                         &parts.pp_comm_s, &parts.dp_comm_s, &parts.exposed_comm_s, &parts.bubble_s,
                         &parts.optimizer_s, &parts.launch_s}) {
        *each *= by;
    }
}

}  // namespace

Evaluation predict(EvaluateRow const& row) {
    RowLayout const& layout = row.layout;
    ModelWork const work = row.gpt ? gpt_work(row) : arch_work(row);
    Links const links(row);
    StageTime const stage = stage_time(row, work, links);
    auto const micro_batches = static_cast<double>(layout.grad_accum_steps);
    auto const stages = static_cast<double>(layout.pp_size);
    double const last_comm = work.last_reduces > 0
                                 ? work.last_reduces * tp_reduce_s(row, links, work.block.tp_bytes)
                                 : 0;
    // With one stage, that one; else the first, the last or a middle one takes longest.
    double const first = work.first_s, last = work.last_s + last_comm;
    bool const one = layout.pp_size == 1;
    double const ends = one ? first + last : std::max(first, last);
    double const ends_comm = one || last >= first ? last_comm : 0;
    // The time of all stages beyond that of the longest; exactly 0 for one stage.
    double const others = (stages - 1) * stage.total_s() + (first + last - ends);

    StepParts parts;
    parts.compute_s = micro_batches * (stage.forward_s + stage.backward_s + ends - ends_comm);
    parts.launch_s = micro_batches * stage.launch_s;
    parts.encoder_s = micro_batches * work.encoder_s;
    parts.tp_comm_s = micro_batches * (stage.tp_s + ends_comm);
    parts.sp_comm_s = micro_batches * stage.sp_s;
    parts.pp_comm_s = micro_batches * stage.pp_s;
    // All stages fill one after the other before the longest is always busy, then drain.
    parts.bubble_s = others / static_cast<double>(layout.virtual_stages);
    DataParallel const data = data_parallel(row, work, stage);
    parts.dp_comm_s = data.comm_s;
    parts.compute_s += data.slowdown_s;
    parts.exposed_comm_s = parts.tp_comm_s + parts.sp_comm_s + parts.pp_comm_s + data.exposed_s;
    parts.optimizer_s = optimizer_s(row, work);
    scale(parts, row.constants.time_scale);
    double const memory = peak_memory_gib(row);
    return {.parts = parts, .peak_memory_gib = memory, .fits = fits_memory(row, memory)};
}

Evaluation evaluate(EvaluateRow const& row) {
    Evaluation found = predict(row);
    if (row.measured.empty()) return found;
    MeasuredCorrection const& by = found.by = correction_of(row);
    StepParts& parts = found.parts;
    for (double* each : {&parts.compute_s, &parts.encoder_s, &parts.bubble_s, &parts.optimizer_s,
                         &parts.launch_s}) {
        *each *= by.compute;
    }
    for (double* each : {&parts.tp_comm_s, &parts.sp_comm_s, &parts.pp_comm_s, &parts.dp_comm_s,
                         &parts.exposed_comm_s}) {
        *each *= by.comm;
    }
    found.peak_memory_gib *= by.memory;
    found.fits = fits_memory(row, found.peak_memory_gib);
    return found;
}

}  // namespace osora::plan
