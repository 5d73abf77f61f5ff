// The store's index lives as long as a forward pass: which memory is already packed, and as what.
// Entries hold weak references to storages, so that a reused address is recognised.
#include "worker/memory/activation_store.hpp"

#include "worker/memory/forward_state.hpp"
#include "worker/memory/packed.hpp"
#include "worker/memory/value_rows.hpp"

#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace osora::worker {
namespace {

using Shape = std::vector<std::int64_t>;

/// The offloaded tensors of a pass in the order of forward: backward asks from the end on.
class OffloadOrder {
public:
    std::size_t add(std::weak_ptr<OffloadedValues> values) {
        std::lock_guard const lock(mutex_);
        values_.push_back(std::move(values));
        return values_.size() - 1;
    }
    void prefetch_before(std::size_t place, int count) {
        std::lock_guard const lock(mutex_);
        for (; count > 0 && place > 0; --count) {
            if (auto const values = values_[--place].lock()) values->prefetch();
        }
    }

private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<OffloadedValues>> values_;
};

struct OffloadPlace {
    std::shared_ptr<OffloadOrder> order;
    std::size_t place = 0;
    int prefetch_tensors = 0;
};

/// One tensor kept until backward: itself, or packed values and their layout.
struct Saved {
    at::Tensor kept;
    std::int64_t version = 0;  // of `kept`
    std::shared_ptr<Packed> packed;
    Shape sizes, strides;
    std::int64_t offset = 0;
    std::optional<OffloadPlace> offloaded;

    [[nodiscard]] at::Tensor restore() const {
        if (!packed) {
            TORCH_CHECK(static_cast<std::int64_t>(kept._version()) == version,
                        "a tensor that backward needs was changed in place: it was at version ",
                        version, ", is at ", kept._version());
            return kept;
        }
        at::Tensor const values = packed->values();
        if (offloaded)
            offloaded->order->prefetch_before(offloaded->place, offloaded->prefetch_tensors);
        return values.as_strided(sizes, strides, offset);
    }
};

/// Without its history: a node that saves its own output would keep itself alive, and with it the
/// graph of a pass whose backward never runs.
Saved kept_as_it_is(at::Tensor const& tensor) {
    return {.kept = tensor.detach(),
            .version = static_cast<std::int64_t>(tensor._version()),
            .packed = {},
            .sizes = {},
            .strides = {},
            .offloaded = {}};
}

bool is_statistic(at::Tensor const& tensor, SavedKind kind) {
    if (kind == SavedKind::scores && tensor.dim() != 4) return true;
    return tensor.dim() > 0 && tensor.sizes().back() == 1;
}

bool is_packable_type(at::Tensor const& tensor, StoreForm form) {
    auto const type = tensor.scalar_type();
    if (form == StoreForm::offload && type == at::kDouble) return true;
    return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {  // SplitMix64 of both
    std::uint64_t z = a + 0x9e3779b97f4a7c15U * (b + 1);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace

struct ActivationStore::Index {
    /// Packed memory of a storage: the values of a tensor without gaps from `offset` on (any view
    /// of them is found), or those of exactly this view.
    struct Entry {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;
        c10::ScalarType type;
        std::int64_t version;
        std::int64_t offset, count;
        Shape sizes, strides;  // of a view with gaps
        std::weak_ptr<Packed> packed;
        std::shared_ptr<Packed> made;  // left by remake(): no other reference yet
        std::optional<OffloadPlace> offloaded;
    };
    using Key = c10::StorageImpl const*;

    StoreOptions options;
    std::array<SavedCounts, kSavedKinds>& counts;
    std::unordered_map<Key, std::vector<Entry>> entries;
    std::unordered_set<Key> weights;
    std::shared_ptr<OffloadOrder> order;
    std::shared_ptr<SideCopies> copies = {};  // of the device, since its first tensor
    std::uint64_t pass_key = 0, tensor_number = 0;

    [[nodiscard]] SavedCounts& counts_here() {
        return counts[static_cast<std::size_t>(saved_kind())];
    }
    [[nodiscard]] bool keeps(at::Tensor const& tensor) const;
    [[nodiscard]] std::optional<Saved> find(at::Tensor const& tensor);
    [[nodiscard]] Saved save(at::Tensor const& tensor);
    [[nodiscard]] std::shared_ptr<Packed> pack(at::Tensor const& tensor,
                                               std::optional<OffloadPlace>& offloaded);
    [[nodiscard]] std::shared_ptr<Packed> pack_as_int8(at::Tensor const& tensor);
    void remember(at::Tensor const& tensor, ValueRows const& rows, Entry entry);
    void close();
};

namespace {

Saved view_of(at::Tensor const& tensor, std::shared_ptr<Packed> packed, Shape strides,
              std::int64_t offset, std::optional<OffloadPlace> offloaded) {
    return {.kept = {},
            .packed = std::move(packed),
            .sizes = tensor.sizes().vec(),
            .strides = std::move(strides),
            .offset = offset,
            .offloaded = std::move(offloaded)};
}

/// Values from the first to the last that a tensor without repeated values reaches.
std::int64_t reach(at::Tensor const& tensor) {
    std::int64_t last = 0;
    for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
        last += (tensor.size(dim) - 1) * tensor.stride(dim);
    return last + 1;
}

}  // namespace

bool ActivationStore::Index::keeps(at::Tensor const& tensor) const {
    if (tensor.layout() != at::kStrided || !tensor.has_storage()) return true;
    if (static_cast<std::int64_t>(tensor.nbytes()) < options.least_bytes) return true;
    if (!is_packable_type(tensor, options.form) || tensor.is_neg()) return true;
    if (is_statistic(tensor, saved_kind())) return true;
    return weights.contains(tensor.storage().unsafeGetStorageImpl()) || repeats_values(tensor);
}

std::optional<Saved> ActivationStore::Index::find(at::Tensor const& tensor) {
    auto const found = entries.find(tensor.storage().unsafeGetStorageImpl());
    if (found == entries.end()) return {};
    auto const version = static_cast<std::int64_t>(tensor._version());
    for (Entry const& entry : found->second) {
        auto packed = entry.packed.lock();
        if (!packed || entry.storage.expired() || entry.version != version) continue;
        if (entry.type != tensor.scalar_type()) continue;
        std::int64_t const offset = tensor.storage_offset() - entry.offset;
        if (!entry.sizes.empty()) {
            if (offset != 0 || tensor.sizes() != entry.sizes || tensor.strides() != entry.strides)
                continue;
            return view_of(tensor, std::move(packed), value_rows(tensor).strides, 0,
                           entry.offloaded);
        }
        if (offset < 0 || offset + reach(tensor) > entry.count) continue;
        ++(entry.made ? counts_here().remade : counts_here().shared);
        return view_of(tensor, std::move(packed), tensor.strides().vec(), offset, entry.offloaded);
    }
    return {};
}

std::shared_ptr<Packed> ActivationStore::Index::pack_as_int8(at::Tensor const& tensor) {
    std::optional<std::uint64_t> key;
    if (options.stochastic) key = mixed(pass_key, tensor_number++);
    Int8Packed const done = pack_int8(tensor, key);
    double const error = std::max(done.expected_error, done.sampled_error);
    if (done.packed && error <= options.error_limit) {
        counts_here().worst_error = std::max(counts_here().worst_error, error);
        return done.packed;
    }
    ++counts_here().fallbacks;
    return tensor.scalar_type() == at::kFloat ? pack_bf16(tensor) : nullptr;
}

std::shared_ptr<Packed> ActivationStore::Index::pack(at::Tensor const& tensor,
                                                     std::optional<OffloadPlace>& offloaded) {
    if (options.form == StoreForm::int8) return pack_as_int8(tensor);
    if (options.form == StoreForm::offload) {
        if (!copies && !tensor.is_cpu()) copies = std::make_shared<SideCopies>(tensor.device());
        auto values = pack_offload(tensor, tensor.is_cpu() ? nullptr : copies);
        counts_here().host_bytes += values->host_bytes();
        offloaded = OffloadPlace{order, order->add(values), options.prefetch_tensors};
        return values;
    }
    return tensor.scalar_type() == at::kFloat ? pack_bf16(tensor) : nullptr;
}

void ActivationStore::Index::remember(at::Tensor const& tensor, ValueRows const& rows,
                                      Entry entry) {
    if (!rows.dense) {
        entry.sizes = tensor.sizes().vec();
        entry.strides = tensor.strides().vec();
    }
    entries[tensor.storage().unsafeGetStorageImpl()].push_back(std::move(entry));
}

Saved ActivationStore::Index::save(at::Tensor const& tensor) {
    if (keeps(tensor)) return kept_as_it_is(tensor);
    if (auto found = find(tensor)) return std::move(*found);
    std::optional<OffloadPlace> offloaded;
    auto packed = pack(tensor, offloaded);
    if (!packed) return kept_as_it_is(tensor);
    SavedCounts& counted = counts_here();
    ++counted.packed;
    counted.bytes += static_cast<std::int64_t>(tensor.nbytes());
    counted.packed_bytes += packed->bytes();
    auto const rows = value_rows(tensor);
    remember(tensor, rows,
             {.storage = tensor.storage().getWeakStorageImpl(),
              .type = tensor.scalar_type(),
              .version = static_cast<std::int64_t>(tensor._version()),
              .offset = tensor.storage_offset(),
              .count = tensor.numel(),
              .sizes = {},
              .strides = {},
              .packed = packed,
              .made = {},
              .offloaded = offloaded});
    return view_of(tensor, std::move(packed), rows.strides, 0, std::move(offloaded));
}

void ActivationStore::Index::close() {
    entries.clear();
    weights.clear();
    order.reset();
    if (!copies) return;
    try {
        copies->release();
    } catch (std::exception const&) {}  // the device has failed, as the next operator says
}

namespace {

class StoreHooks final : public torch::autograd::SavedVariableHooks {
public:
    using Save = std::function<Saved(at::Tensor const&)>;
    explicit StoreHooks(Save save) : save_(std::move(save)) {}

    void call_pack_hook(at::Tensor const& tensor) override {
        saved_ = std::exchange(save_, nullptr)(tensor);
    }
    at::Tensor call_unpack_hook() override { return saved_.restore(); }

private:
    Save save_;
    Saved saved_;
};

}  // namespace

Result<StoreForm> store_form(std::string_view text) {
    if (text == "none") return StoreForm::none;
    if (text == "bf16") return StoreForm::bf16;
    if (text == "int8") return StoreForm::int8;
    if (text == "offload") return StoreForm::offload;
    return Error{Errc::invalid_input,
                 fmt::format("activation_store: \"{}\"; valid: none, bf16, int8, offload", text)};
}

ActivationStore::ActivationStore(StoreOptions const& options)
    : index_(std::make_unique<Index>(Index{
          .options = options, .counts = counts_, .entries = {}, .weights = {}, .order = {}})) {}
ActivationStore::~ActivationStore() = default;

std::unique_ptr<torch::autograd::SavedVariableHooks> ActivationStore::hooks() {
    return std::make_unique<StoreHooks>(
        [this](at::Tensor const& tensor) { return index_->save(tensor); });
}

void ActivationStore::remake(at::Tensor const& made, std::vector<at::Tensor> const& from,
                             Make make) {
    if (!made.is_contiguous() || index_->keeps(made)) return;
    at::NoGradGuard const no_graph;
    std::vector<Saved> parts;
    for (at::Tensor const& each : from) parts.push_back(index_->save(each.detach()));
    auto const autocast = AutocastState::here(made.device());
    auto packed = pack_function(made, [parts = std::move(parts), make, autocast] {
        AutocastState::Scope const cast(autocast);
        std::vector<at::Tensor> tensors;
        for (Saved const& part : parts) tensors.push_back(part.restore());
        return make(tensors);
    });
    index_->entries[made.storage().unsafeGetStorageImpl()].push_back(
        {.storage = made.storage().getWeakStorageImpl(),
         .type = made.scalar_type(),
         .version = static_cast<std::int64_t>(made._version()),
         .offset = made.storage_offset(),
         .count = made.numel(),
         .sizes = {},
         .strides = {},
         .packed = packed,
         .made = packed,
         .offloaded = {}});
}

SavedCounts ActivationStore::total() const {
    SavedCounts sum;
    for (SavedCounts const& each : counts_) {
        sum.packed += each.packed;
        sum.shared += each.shared;
        sum.remade += each.remade;
        sum.fallbacks += each.fallbacks;
        sum.bytes += each.bytes;
        sum.packed_bytes += each.packed_bytes;
        sum.host_bytes += each.host_bytes;
        sum.worst_error = std::max(sum.worst_error, each.worst_error);
    }
    return sum;
}

ActivationStore::Scope::Scope(ActivationStore& store, std::vector<at::Tensor> const& weights,
                              std::uint64_t number)
    : store_(store), open_(store.index_->options.form == StoreForm::none ? nullptr : &store) {
    Index& index = *store.index_;
    for (at::Tensor const& weight : weights) {
        if (weight.defined() && weight.has_storage())
            index.weights.insert(weight.storage().unsafeGetStorageImpl());
    }
    index.order = std::make_shared<OffloadOrder>();
    index.pass_key = mixed(index.options.seed, number);
    index.tensor_number = 0;
}
ActivationStore::Scope::~Scope() {
    store_.index_->close();
}

}  // namespace osora::worker
