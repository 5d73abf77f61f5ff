// Time of a collective in a group shape, from measured samples, from NCCL's model, or from samples
// of another shape. Returns the method and its expected error. Pure.
#pragma once

#include "topology/collectives/collective_samples.hpp"
#include "topology/nccl/nccl_model.hpp"

#include <span>
#include <string>

namespace osora::topology {

struct CollectiveQuestion {
    Collective collective = Collective::all_reduce;
    GroupShape shape;
    std::int64_t size_bytes = 0;
};

struct CollectiveAnswer {
    double time_us = 0;
    double error = 0;     // nine of ten are within this share, if that was measured
    std::string method;   // "fit", "between fits", "fit x model", "fit x ring steps", "model"
    std::string details;  // for people: the sources and the method
    std::string choice;   // NCCL's, with the next: explain(); empty without graphs
};

struct PredictionSources {
    std::span<SampleGroup const> samples = {};
    std::span<NcclGroup const> graphs = {};  // for one kind of machine
    NcclConstants constants = nccl_constants();
};

/// In this order: a fit of that exact shape; between fits with as many ranks per node and fewer and
/// more ranks; the nearest fit times the ratio that NCCL's model gives between the two shapes, or,
/// without graphs and not between one node and several, the ratio of a ring's steps; NCCL's model.
/// not_found: none of them applies, and what would help.
[[nodiscard]] Result<CollectiveAnswer> predict_collective(CollectiveQuestion const& question,
                                                          PredictionSources const& sources);

/// The graphs of `shape`, or those of the nearest shape with as many ranks per node and also on
/// several nodes, for which the search finds the same; nullopt: there are none.
[[nodiscard]] std::optional<NcclGroup> graphs_for(std::span<NcclGroup const> graphs,
                                                  GroupShape const& shape);

}  // namespace osora::topology
