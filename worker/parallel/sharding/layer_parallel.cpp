#include "worker/parallel/sharding/layer_parallel.hpp"

#include "worker/model/parameters.hpp"
#include "worker/parallel/sharding/grad_reducer.hpp"
#include "worker/parallel/sharding/sharded_parameters.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace osora::worker {
LayerParallel::LayerParallel(Parameters& parameters, RankGroups groups,
                             DataParallelOptions const& options)
    : network_(parameters),
      ranks_(groups.network),
      counts_stage_(!groups.linears || groups.linears->rank() == 0) {
    engines_[kCommon] = engine_of(kCommon, groups.all, options);
    engines_[kStage] = engine_of(kStage, groups.stage, options);
    engines_[kSlices] = engine_of(kSlices, groups.replicas, options);
    network_.add_gate(*this);
}

LayerParallel::~LayerParallel() {
    network_.remove_gate(*this);
}

LayerParallel::Part LayerParallel::part_of(Parameters const& parameters, NamedTensor const& own) {
    if (parameters.slice_of(own) != nullptr) return kSlices;
    return parameters.place_of(own) == Place::this_stage ? kStage : kCommon;
}

LayerParallel::Engine LayerParallel::engine_of(Part part, std::optional<Group> const& group,
                                               DataParallelOptions options) {
    constexpr std::array kLabels{"", "stage ", "sliced "};
    options.label = kLabels[part];
    TrainedSet set{.tensors = {}, .units = {}, .source = &network_};
    std::vector<std::size_t> indexes;  // among all that are trained, here or elsewhere
    auto const units = network_.trainable_units();
    std::size_t index = 0, here = 0;
    for (NamedTensor const& each : network_.all()) {
        if (each.kind != TensorKind::trainable) continue;
        std::size_t const own = index++;
        if (!network_.is_here(each)) continue;
        std::size_t const unit = units[here++];
        if (part_of(network_, each) != part) continue;
        set.tensors.push_back(each.tensor);
        set.units.push_back(unit);
        indexes.push_back(own);
    }
    Engine engine;
    if (indexes.empty()) return engine;
    bool const shares = group && group->world_size() > 1 && options.zero_stage > 0;
    if (shares) {
        auto sharded =
            std::make_unique<ShardedParameters>(std::move(set), ShardGroups{*group, {}}, options);
        engine.gate = sharded.get();
        engine.ranks = std::move(sharded);
    } else {
        network_.allocate(set.tensors);
        engine.ranks = std::make_unique<GradReducer>(std::move(set.tensors), group, options);
    }
    for (ParameterPiece piece : engine.ranks->pieces()) {
        piece.parameter = indexes[piece.parameter];
        piece.is_mine = shares || !group || group->rank() == 0;
        pieces_.push_back(std::move(piece));
    }
    return engine;
}

void LayerParallel::begin_step() {
    for (Engine& each : engines_)
        if (each.ranks) each.ranks->begin_step();
}

void LayerParallel::begin(BackwardPass const& pass) {
    for (Engine& each : engines_)
        if (each.ranks) each.ranks->begin(pass);
}

Result<void> LayerParallel::finish() {
    for (Engine& each : engines_)
        if (each.ranks) OSORA_TRY_VOID(each.ranks->finish());
    return {};
}

Result<void> LayerParallel::abandon() {
    return Error{Errc::out_of_memory, "peers of tp_size or pp_size wait in this pass"};
}

at::Tensor LayerParallel::square_of(Part part) {
    Engine const& engine = engines_[part];
    return engine.ranks ? engine.ranks->norm().to(at::kDouble).square() : at::Tensor();
}

at::Tensor LayerParallel::norm() {
    at::Tensor own = square_of(kSlices);
    at::Tensor const stage = square_of(kStage), common = square_of(kCommon);
    if (!own.defined()) own = at::zeros({}, pieces_.front().values.options().dtype(at::kDouble));
    if (stage.defined() && counts_stage_) own = own.add(stage);
    at::Tensor sum = ranks_->all_gather(own.view({1})).sum();
    if (common.defined()) sum = sum.add(common);
    return sum.sqrt().to(at::kFloat);
}

double LayerParallel::publish() {
    double waited_s = 0;
    for (Engine& each : engines_)
        if (each.ranks) waited_s += each.ranks->publish();
    return waited_s;
}

double LayerParallel::waited_s() const {
    double waited_s = 0;
    for (Engine const& each : engines_)
        if (each.ranks) waited_s += each.ranks->waited_s();
    return waited_s;
}

std::vector<protocol::CollectiveCost> LayerParallel::costs(double exposed_s) const {
    std::vector<protocol::CollectiveCost> costs;
    for (Part const part : {kSlices, kStage}) {
        auto const& ranks = engines_[part].ranks;
        if (!ranks) continue;
        std::ranges::move(ranks->costs(ranks->waited_s()), std::back_inserter(costs));
        exposed_s -= ranks->waited_s();
    }
    if (auto const& ranks = engines_[kCommon].ranks)
        std::ranges::move(ranks->costs(exposed_s), std::back_inserter(costs));
    return costs;
}

void LayerParallel::open(std::size_t unit) {
    for (Engine& each : engines_)
        if (each.gate != nullptr) each.gate->open(unit);
}

void LayerParallel::close(std::size_t unit, std::initializer_list<at::Tensor> outputs) {
    for (Engine& each : engines_)
        if (each.gate != nullptr) each.gate->close(unit, outputs);
}

}  // namespace osora::worker
