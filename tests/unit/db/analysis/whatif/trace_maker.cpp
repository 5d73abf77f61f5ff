#include "tests/unit/db/analysis/whatif/trace_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace osora::db::whatif::test {
namespace {

struct Compute {
    bool forward = true;
    int chunk = 0, micro_batch = 0;
};

/// Chunk and micro-batch of the k-th forward (or backward) of a worker.
Compute nth(PipelineShape const& shape, int k, bool forward) {
    if (shape.vpp_size == 1) return {forward, 0, k};
    int const round = shape.pp_size * shape.vpp_size;
    int const chunk = k % round / shape.pp_size;
    return {forward, forward ? chunk : shape.vpp_size - 1 - chunk,
            k / round * shape.pp_size + k % shape.pp_size};
}

std::vector<Compute> schedule_of(PipelineShape const& shape, int stage) {
    int const count = shape.micro_batches * shape.vpp_size;
    int warmup = shape.pp_size - stage - 1;
    if (shape.vpp_size > 1) warmup = 2 * warmup + (shape.vpp_size - 1) * shape.pp_size;
    warmup = std::min(warmup, count);
    std::vector<Compute> order;
    for (int k = 0; k < warmup; ++k) order.push_back(nth(shape, k, true));
    for (int k = warmup; k < count; ++k) {
        order.push_back(nth(shape, k, true));
        order.push_back(nth(shape, k - warmup, false));
    }
    for (int k = count - warmup; k < count; ++k) order.push_back(nth(shape, k, false));
    return order;
}

}  // namespace

MadeStep::MadeStep(PipelineShape const& shape) : shape_(shape) {
    for (int dp_rank = 0; dp_rank < shape.dp_size; ++dp_rank) {
        for (int stage = 0; stage < shape.pp_size; ++stage) add_worker(dp_rank, stage);
    }
    connect();
}

std::size_t MadeStep::add(OpKind kind, int dp_rank, int stage, std::vector<std::size_t> after) {
    MadeOp op;
    op.kind = kind;
    op.dp_rank = dp_rank;
    op.stage = stage;
    op.after = std::move(after);
    for (auto const& other : ops) {
        bool const same = other.kind == kind && other.dp_rank == dp_rank && other.stage == stage;
        if (same) ++op.seq_id;
    }
    ops.push_back(std::move(op));
    return ops.size() - 1;
}

void MadeStep::add_worker(int dp_rank, int stage) {
    std::vector<std::size_t> before;
    std::map<int, std::size_t> gathered;
    for (int chunk = 0; chunk < shape_.vpp_size && shape_.dp_size > 1; ++chunk) {
        gathered[chunk] = add(OpKind::params_all_gather, dp_rank, stage, before);
        ops.back().model_chunk = chunk;
        before = {gathered[chunk]};
    }
    auto const computes = add_pipeline(dp_rank, stage);
    for (auto const& [chunk, gather] : gathered) {
        auto const first = std::ranges::find_if(computes, [&](std::size_t i) {
            return ops[i].kind == OpKind::forward_compute && ops[i].model_chunk == chunk;
        });
        ops[*first].after.push_back(gather);
    }
    std::vector<std::size_t> reductions;
    for (int chunk = shape_.vpp_size - 1; chunk >= 0 && shape_.dp_size > 1 && shape_.overlap;
         --chunk) {
        std::size_t last = 0;
        for (auto const i : computes) {
            bool const its = ops[i].kind == OpKind::backward_compute && ops[i].model_chunk == chunk;
            if (its) last = i;
        }
        auto after = before;
        after.push_back(last);
        before = {add(OpKind::grads_reduce_scatter, dp_rank, stage, after)};
        ops.back().model_chunk = chunk;
    }
    add_end_of_step(dp_rank, stage, computes.back());
    if (shape_.overlap && shape_.dp_size > 1) {
        auto const norms = std::ranges::find_if(ops, [&](MadeOp const& op) {
            return op.kind == OpKind::layernorm_grads_all_reduce && op.dp_rank == dp_rank &&
                   op.stage == stage;
        });
        norms->after.push_back(before.front());
    }
}

std::vector<std::size_t> MadeStep::add_pipeline(int dp_rank, int stage) {
    std::vector<std::size_t> computes;
    std::map<OpKind, std::size_t> last;  // op of each lane, compute ops by kind
    int const chunks = shape_.vpp_size * shape_.pp_size;
    auto const in_lane = [&](OpKind kind, std::vector<std::size_t> after, Compute const& moved) {
        if (auto const it = last.find(kind); it != last.end()) after.push_back(it->second);
        auto const op = add(kind, dp_rank, stage, std::move(after));
        last[kind] = op;
        // Both sides have the same key: the chunk that sends.
        int const chunk = moved.chunk * shape_.pp_size + stage;
        bool const forward = moved.forward;
        bool const sends = kind == OpKind::forward_send || kind == OpKind::backward_send;
        int const sender = sends ? chunk : chunk + (forward ? -1 : 1);
        int const receiver = sender + (forward ? 1 : -1);
        bool const moves = std::min(sender, receiver) >= 0 && std::max(sender, receiver) < chunks;
        if (moves) {
            auto const [other, first] =
                sides_.try_emplace({dp_rank, forward ? 1 : 0, sender, moved.micro_batch}, op);
            if (!first) ops[other->second].group = ops[op].group = {other->second, op};
        }
        return op;
    };
    auto const order = schedule_of(shape_, stage);
    auto const first_backward = std::ranges::find(order, false, &Compute::forward) - order.begin();
    for (auto const& each : order) {
        int const chunk = each.chunk * shape_.pp_size + stage;
        auto const kind = each.forward ? OpKind::forward_compute : OpKind::backward_compute;
        // The ends of the model have no other side; with chunks they are recorded all the same.
        bool const receives =
            shape_.vpp_size > 1 || (each.forward ? chunk > 0 : chunk < chunks - 1);
        bool const sends = shape_.vpp_size > 1 || (each.forward ? chunk < chunks - 1 : chunk > 0);
        std::vector<std::size_t> after, ahead;
        if (!computes.empty()) after.push_back(computes.back());
        if (!each.forward && last.count(kind) == 0 && first_backward >= 2) {
            ahead = {computes[static_cast<std::size_t>(first_backward - 2)]};
        }
        if (receives) {
            auto launched = ahead;
            if (auto const it = last.find(kind); it != last.end()) launched.push_back(it->second);
            after.push_back(in_lane(each.forward ? OpKind::forward_recv : OpKind::backward_recv,
                                    std::move(launched), each));
        }
        auto const compute = add(kind, dp_rank, stage, std::move(after));
        ops[compute].model_chunk = each.chunk;
        ops[compute].micro_batch = each.micro_batch;
        last[kind] = compute;
        computes.push_back(compute);
        if (sends) {
            ahead.push_back(compute);
            in_lane(each.forward ? OpKind::forward_send : OpKind::backward_send, std::move(ahead),
                    each);
        }
    }
    return computes;
}

void MadeStep::add_end_of_step(int dp_rank, int stage, std::size_t last_compute) {
    std::size_t before = last_compute;
    auto const next = [&](OpKind kind) { before = add(kind, dp_rank, stage, {before}); };
    next(OpKind::gc);
    next(OpKind::layernorm_grads_all_reduce);
    if (stage == 0 || stage == shape_.pp_size - 1) next(OpKind::embedding_grads_all_reduce);
    if (shape_.dp_size > 1 && shape_.overlap) next(OpKind::separate_grads_all_reduce);
    for (int i = 0; i < shape_.vpp_size && shape_.dp_size > 1 && !shape_.overlap; ++i) {
        next(OpKind::grads_reduce_scatter);
    }
    next(OpKind::optimizer_clip_main_grad);
    next(OpKind::optimizer);
}

/// Collectives: over dp ranks, over stages, over both.
void MadeStep::connect() {
    std::map<std::vector<int>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        auto const& op = ops[i];
        int const kind = static_cast<int>(op.kind);
        switch (op.kind) {
            case OpKind::params_all_gather:
            case OpKind::grads_reduce_scatter:
            case OpKind::separate_grads_all_reduce:
                groups[{kind, op.seq_id, op.stage}].push_back(i);
                break;
            case OpKind::embedding_grads_all_reduce:
                groups[{kind, op.dp_rank}].push_back(i);
                break;
            case OpKind::optimizer_clip_main_grad:
                groups[{kind}].push_back(i);
                break;
            default:
                break;
        }
    }
    for (auto const& [key, group] : groups) {
        for (auto const i : group) ops[i].group = group;
    }
}

void MadeStep::set_durations(std::function<double(MadeOp const&)> const& duration_s) {
    for (auto& op : ops) op.duration_s = duration_s(op);
}

double MadeStep::play() {
    for (auto& op : ops) op.start_s = op.end_s = 0;
    double step_s = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (auto& op : ops) {
            for (auto const before : op.after) op.start_s = std::max(op.start_s, ops[before].end_s);
            double begin = op.start_s;
            for (auto const other : op.group) begin = std::max(begin, ops[other].start_s);
            double const end = begin + op.duration_s;
            moved = moved || end != op.end_s;
            op.end_s = end;
            step_s = std::max(step_s, end);
        }
    }
    return step_s;
}

std::string csv_of(std::vector<MadeStep> const& steps) {
    std::string text = "step,dp_rank,stage,op,seq_id,model_chunk,mb_id,start_us,dur_us\n";
    int number = 10;
    for (auto const& step : steps) {
        for (auto const& op : step.ops) {
            fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{}\n", number,
                           op.dp_rank, op.stage, name_of(op.kind), op.seq_id, op.model_chunk,
                           op.micro_batch, op.start_s * 1e6, (op.end_s - op.start_s) * 1e6);
        }
        ++number;
    }
    return text;
}

JobShape job_shape_of(PipelineShape const& shape) {
    JobShape job;
    job.dp_size = shape.dp_size;
    job.pp_size = shape.pp_size;
    job.vpp_size = shape.vpp_size;
    job.world_size = shape.dp_size * shape.pp_size;
    return job;
}

}  // namespace osora::db::whatif::test
