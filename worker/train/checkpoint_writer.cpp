#include "worker/train/checkpoint_writer.hpp"

#include <chrono>

namespace osora::worker {

std::optional<CheckpointWriter::Outcome> CheckpointWriter::start(CheckpointState state,
                                                                 CheckpointParts const& live) {
    auto previous = wait();
    step_ = state.step;
    writing_ = std::async(std::launch::async, [folder = folder_, keep = keep_, peers = peers_,
                                               state = std::move(state), tensors = snapshot(live)] {
        return save_checkpoint(folder, state, tensors, keep, peers);
    });
    return previous;
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::poll() {
    if (!writing_.valid() ||
        writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        return std::nullopt;
    }
    return wait();
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::wait() {
    if (!writing_.valid()) return std::nullopt;
    return Outcome{step_, writing_.get()};
}

}  // namespace osora::worker
