#include "worker/train/checkpoint_writer.hpp"

#include "base/check.hpp"
#include "worker/train/step_boundary.hpp"

#include <utility>

namespace osora::worker {

void CheckpointWriter::start(CheckpointState state, CheckpointParts const& live) {
    OSORA_CHECK(!writing_.valid(), "two saves at a time");
    step_ = state.step;
    progress_ = std::make_shared<SaveProgress>();
    bytes_seen_ = 0;
    // There may be no memory for a copy: then training goes on without this checkpoint, too.
    auto copied =
        at_step_boundary("checkpoint", [&]() -> Result<CheckpointParts> { return snapshot(live); });
    writing_ = std::async(
        std::launch::async, [folder = folder_, keep = keep_, peers = peers_, progress = progress_,
                             state = std::move(state), copied = std::move(copied)] {
            SaveWith const with{peers, progress.get()};
            // Training goes on without this checkpoint, whatever failed.
            return at_step_boundary("checkpoint", [&]() -> Result<SavedCheckpoint> {
                if (copied.has_value()) return save_checkpoint(folder, state, *copied, keep, with);
                return abandon_checkpoint(folder, state.step, copied.error(), with);
            });
        });
}

bool CheckpointWriter::ends_within(std::chrono::milliseconds patience) const {
    return !writing_.valid() || writing_.wait_for(patience) == std::future_status::ready;
}

bool CheckpointWriter::has_advanced() {
    if (progress_ == nullptr) return false;
    std::int64_t const bytes = progress_->bytes;
    return std::exchange(bytes_seen_, bytes) != bytes || progress_->waits_for_others;
}

bool CheckpointWriter::ends_unless_stuck(std::chrono::milliseconds patience,
                                         std::function<void()> const& sign) {
    constexpr int kLooks = 6;
    for (int silent = 0; !ends_within(patience / kLooks); sign()) {
        silent = has_advanced() ? 0 : silent + 1;
        if (silent == kLooks) return false;
    }
    return true;
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::poll() {
    return ends_within(std::chrono::milliseconds(0)) ? wait() : std::nullopt;
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::wait() {
    if (!writing_.valid()) return std::nullopt;
    return Outcome{step_, writing_.get()};
}

}  // namespace osora::worker
