// The tensors that the pickle of a torch.save archive claims. Each claim is checked against the
// bytes of its record before a tensor is made. Pure: no files, no LibTorch.
#pragma once

#include "base/result.hpp"
#include "worker/model/weights/pickle.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// Claims: not verified before check_in_record(). Counts are of elements.
struct TorchTensor {
    std::string name;
    std::string record;            // "data/KEY", its bytes in the archive
    std::string type;              // of the elements: "Float", "float8_e4m3fn"
    std::int64_t width_bytes = 0;  // of an element
    std::int64_t numel = 0;        // of the record
    std::int64_t offset = 0;
    std::vector<std::int64_t> sizes, strides;
};

struct TorchWeights {
    std::vector<TorchTensor> tensors;  // by name
    std::vector<std::string> notices;  // what is dropped, for people
};
/// The tensors of the set `wanted` (torch_sets.hpp; "": the only one) of the pickle at the start of
/// `bytes`. corrupt: not a pickle, a tensor without its parts, a duplicate name; invalid_input: no
/// such set, or a tensor that is quantized, sparse or otherwise not plain, by its name.
[[nodiscard]] Result<TorchWeights> parse_torch_pickle(std::string_view bytes,
                                                      std::string_view wanted = {});
[[nodiscard]] Result<TorchWeights> torch_weights(Pickle const& pickle, std::string_view wanted);

/// Bytes of an element of "torch\nFloatStorage"; 0: an unknown type.
[[nodiscard]] std::int64_t width_of_storage(std::string_view global);

/// Checks that all elements are within a record of `record_bytes`; corrupt: names the claim and the
/// size of the record.
[[nodiscard]] Result<void> check_in_record(TorchTensor const& tensor, std::int64_t record_bytes);

/// Bytes of the elements, each counted as often as the strides repeat it; the sizes must have
/// passed check_in_record().
[[nodiscard]] std::int64_t bytes_of(TorchTensor const& tensor);

}  // namespace osora::worker
