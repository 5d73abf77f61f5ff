#include "worker/model/storage_bytes.hpp"

#include <c10/core/StorageImpl.h>

namespace osora::worker {

void set_storage_bytes(at::Tensor const& tensor, std::size_t bytes) {
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    storage.set_data_ptr_noswap(bytes == 0 ? c10::DataPtr(nullptr, tensor.device())
                                           : storage.allocator()->allocate(bytes));
    storage.set_nbytes(bytes);
}

void lend_storage(at::Tensor const& tensor, void* memory) {
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    storage.set_data_ptr_noswap(c10::DataPtr(memory, tensor.device()));
    storage.set_nbytes(memory == nullptr ? 0 : tensor.nbytes());
}

bool has_memory(at::Tensor const& tensor) {
    return tensor.numel() == 0 || tensor.storage().nbytes() > 0;
}

}  // namespace osora::worker
