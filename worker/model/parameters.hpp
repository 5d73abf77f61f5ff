// The tensors of a network under their state-dict names, in the order in which the forward pass
// uses them (so the reverse is the order in which gradients appear). Layers keep shared handles.
#pragma once

#include "base/result.hpp"
#include "worker/model/adapter.hpp"
#include "worker/model/named_tensor.hpp"
#include "worker/model/unit_gate.hpp"
#include "worker/model/weights/tensor_slice.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::worker {

class Parameters {
public:
    /// Device and dtype of all tensors; on the meta device nothing is allocated.
    explicit Parameters(at::TensorOptions options, TensorShare share = {})
        : options_(std::move(options)), share_(share) {}

    /// Of the tensors that are on this rank.
    [[nodiscard]] at::TensorOptions const& options() const { return options_; }

    /// A new uninitialised tensor; names must be unique.
    at::Tensor add(std::string name, at::IntArrayRef shape,
                   TensorKind kind = TensorKind::trainable);
    /// This rank's slice of a tensor of `shape` (TensorSlice).
    at::Tensor add_slice(std::string name, at::IntArrayRef shape, std::int64_t dim,
                         std::vector<std::int64_t> parts);
    [[nodiscard]] TensorShare share() const { return share_; }
    /// The whole of which a tensor of all() is this rank's part; nullptr: it is whole itself.
    [[nodiscard]] TensorSlice const* slice_of(NamedTensor const& own) const;
    [[nodiscard]] at::IntArrayRef whole_sizes(NamedTensor const& own) const;
    /// Copies the part of `whole` that a tensor of all() has.
    void take(NamedTensor const& own, at::Tensor const& whole) const;

    /// Whether trainable tensors added from here on have no memory (ZeRO: no rank holds them all).
    void delay_memory(bool delays) { delays_memory_ = delays; }
    /// Draws the initial values of a tensor, whole: `values` is contiguous, in fp32 on the CPU, so
    /// that device and dtype do not change the draws.
    using Draw = std::function<void(NamedTensor const& own, at::Tensor const& values)>;
    /// Initial values of this rank's part of all tensors; those without memory get them later.
    void initialise(Draw draw);
    /// Writes to `into` the values, from load() or initialise(), of a tensor of all() without
    /// memory; `into` has its shape.
    void write_values(at::Tensor const& own, at::Tensor const& into) const;
    /// Gives memory and values to those of these that have none.
    void allocate(std::vector<at::Tensor> const& tensors);
    void allocate_untrained();
    void allocate_all();
    /// The values of a tensor of all() are in `home`, of its shape, from now on: what gives it
    /// memory from time to time copies them there. It is not allocated by the above.
    void move_home(NamedTensor const& own, at::Tensor home);
    /// Where the values of a tensor of all() are: its home, or itself.
    [[nodiscard]] at::Tensor const& home_of(NamedTensor const& own) const;
    /// After the last call of the above: drops what they read, files included.
    void forget_values();

    /// The adapter of a new linear layer, which has none yet.
    std::shared_ptr<Adapter const> add_linear(std::string name, std::int64_t in, std::int64_t out,
                                              SharedSide shared = {});
    [[nodiscard]] std::vector<LinearSlot> const& linears() const { return linears_; }
    /// Whether add_adapters (worker/train/trainable.hpp) was called.
    [[nodiscard]] bool has_adapters() const;

    /// Tensors added from here on belong to `unit` (initially 0).
    void enter_unit(std::size_t unit) { unit_ = unit; }
    /// For each of trainable().
    [[nodiscard]] std::vector<std::size_t> trainable_units() const;
    [[nodiscard]] std::size_t unit_of(NamedTensor const& own) const;
    /// Forward passes call it at each unit until it is removed. It must outlive them.
    void add_gate(UnitGate& gate) { gates_.push_back(&gate); }
    void remove_gate(UnitGate& gate) { std::erase(gates_, &gate); }
    void open_unit(std::size_t unit) const {
        for (UnitGate* const gate : gates_) gate->open(unit);
    }
    void close_unit(std::size_t unit, std::initializer_list<at::Tensor> outputs) const {
        for (UnitGate* const gate : gates_) gate->close(unit, outputs);
    }

    /// Where tensors added from here on are. On other ranks they have only a name and a shape, on
    /// the meta device.
    Parameters& set_place(Place place) {
        place_ = place;
        return *this;
    }
    [[nodiscard]] Place place_of(NamedTensor const& own) const;
    [[nodiscard]] bool is_here(NamedTensor const& own) const {
        return place_of(own) != Place::other_stage;
    }

    /// Uninitialised tensors of these options for the trainable ones of this network: their names,
    /// slices, units and places. `delays`: see delay_memory.
    [[nodiscard]] Parameters trainable_on(at::TensorOptions const& options, bool delays) const;

    /// Excludes the tensors that `which` names from training.
    void freeze(std::function<bool(std::string_view)> const& which);

    [[nodiscard]] std::vector<NamedTensor> const& all() const { return entries_; }
    /// Handles of the trainable ones on this rank, in order: for optimizer, reducer and EMA.
    [[nodiscard]] std::vector<at::Tensor> trainable() const;
    /// nullptr when there is none.
    [[nodiscard]] NamedTensor const* find(std::string_view name) const;
    /// Number of values, not tensors, of the whole network.
    [[nodiscard]] std::int64_t trainable_count() const;

    /// One Error that names all missing, additional and misshapen tensors among `values`.
    [[nodiscard]] Result<void> check(std::vector<NamedTensor> const& values) const;
    /// Copies this rank's part of the values by name (also a slice: this rank's); for tensors
    /// without memory keeps them until then. Changes nothing if check() fails.
    [[nodiscard]] Result<void> load(std::vector<NamedTensor> const& values);

    /// Drops the gradients (they are taken over, not accumulated into, by the next backward).
    void clear_gradients();

private:
    [[nodiscard]] Result<void> check_any_known(std::vector<NamedTensor> const& values) const;
    [[nodiscard]] at::Tensor part_of(NamedTensor const& own, at::Tensor const& whole) const;
    void write_values(NamedTensor const& own, at::Tensor const& into) const;

    at::TensorOptions options_;
    TensorShare share_;
    std::vector<NamedTensor> entries_;
    std::vector<std::size_t> units_;                          // of entries_
    std::map<std::string, TensorSlice, std::less<>> slices_;  // of those that are not whole
    std::size_t unit_ = 0;
    Place place_ = Place::every_rank;
    std::vector<Place> places_;  // of entries_
    std::vector<UnitGate*> gates_;
    std::vector<LinearSlot> linears_;
    std::map<std::string, std::size_t, std::less<>> index_;  // of entries_, by name
    bool delays_memory_ = false;
    Draw draw_;
    std::map<std::string, at::Tensor, std::less<>> loaded_;  // for tensors without memory
    std::map<std::string, at::Tensor, std::less<>> homes_;
};

}  // namespace osora::worker
