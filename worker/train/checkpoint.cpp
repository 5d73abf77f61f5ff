#include "worker/train/checkpoint.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "worker/model/weights/merge_adapter.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/step_boundary.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kWriting = "writing-";

struct File {
    char const* name;
    std::vector<NamedTensor> CheckpointTensors::*tensors;
    std::vector<TensorParts> CheckpointParts::*parts;
};
constexpr std::array kFiles{
    File{"model.safetensors", &CheckpointTensors::model, &CheckpointParts::model},
    File{"ema.safetensors", &CheckpointTensors::ema, &CheckpointParts::ema},
    File{"optimizer_exp_avg.safetensors", &CheckpointTensors::exp_avg, &CheckpointParts::exp_avg},
    File{"optimizer_exp_avg_sq.safetensors", &CheckpointTensors::exp_avg_sq,
         &CheckpointParts::exp_avg_sq},
    File{"master.safetensors", &CheckpointTensors::master, &CheckpointParts::master},
    File{kAdapterFile, &CheckpointTensors::adapter, &CheckpointParts::adapter},
    File{"objective.safetensors", &CheckpointTensors::objective, &CheckpointParts::objective}};
constexpr std::size_t kFirstFiles = 4;  // those of a state that lists none

/// The step of a folder name, or -1.
int step_of(fs::path const& path) {
    std::string const name = path.filename().string();
    if (!name.starts_with(kPrefix)) return -1;
    int step = -1;
    auto const [end, error] =
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
    return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

/// As many as can be read.
std::vector<fs::path> entries_of(fs::path const& folder, std::error_code& error) {
    std::vector<fs::path> found;
    for (fs::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error))
        found.push_back(each->path());
    return found;
}

/// A file system that loses the folder meanwhile ends no training.
std::vector<fs::path> entries_of(fs::path const& folder) {
    std::error_code ignored;
    return entries_of(folder, ignored);
}

/// Newest first.
std::vector<fs::path> checkpoints_among(std::vector<fs::path> const& entries) {
    std::vector<fs::path> found;
    for (fs::path const& entry : entries)
        if (step_of(entry) >= 0) found.push_back(entry);
    std::ranges::sort(found, std::greater<>(), step_of);
    return found;
}

/// The tensors, one file after the other.
Result<void> write_tensors(fs::path const& folder, CheckpointParts const& tensors,
                           bool first_writer, SaveProgress* progress) {
    auto* const written = progress == nullptr ? nullptr : &progress->bytes;
    for (File const& file : kFiles) {
        auto const& list = tensors.*file.parts;
        if (list.empty()) continue;
        OSORA_TRY_VOID(
            write_parts(folder / file.name, list, {{"format", "pt"}}, first_writer, written));
    }
    return {};
}

/// What makes a folder of tensors a checkpoint.
Result<void> write_state(fs::path const& folder, CheckpointState state,
                         CheckpointParts const& tensors) {
    state.files.clear();
    for (File const& file : kFiles)
        if (!(tensors.*file.parts).empty()) state.files.emplace_back(file.name);
    if (!tensors.adapter.empty()) {
        std::vector<NamedTensor> shapes;
        for (TensorParts const& each : tensors.adapter)
            shapes.push_back({each.name, at::empty(each.shape, at::kMeta)});
        OSORA_TRY_VOID(write_file_atomic(folder / kAdapterConfigFile,
                                         adapter_config(shapes, state.lora_alpha)));
    }
    OSORA_TRY_VOID(write_file_atomic(folder / "state.json", protocol::encode(state) + "\n"));
    return sync_directory(folder);
}

void remove_quietly(fs::path const& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

bool can_be_read(fs::path const& checkpoint) {
    return load_checkpoint(checkpoint).has_value();
}

/// Removes leftovers of crashed savers, and all that are older than the newest `keep` that can be
/// read. Other ranks may have begun to write a later step.
void tidy(fs::path const& folder, int step, int keep) {
    int kept = 0;
    for (fs::path const& each : list_checkpoints(folder)) {
        if (kept >= keep) {
            remove_quietly(each);
        } else if (can_be_read(each)) {
            ++kept;
        }
    }
    for (fs::path const& entry : entries_of(folder)) {
        std::string const name = entry.filename().string();
        if (!name.starts_with(kWriting)) continue;
        int of = 0;
        std::from_chars(name.data() + kWriting.size(), name.data() + name.size(), of);
        if (of <= step) remove_quietly(entry);
    }
}

std::int64_t size_of(fs::path const& folder) {
    std::int64_t bytes = 0;
    for (fs::path const& entry : entries_of(folder)) {
        std::error_code error;
        auto const size = fs::file_size(entry, error);
        if (!error) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
}

Result<void> wait_for_all(SaveWith const& with, int step) {
    if (with.peers == nullptr) return {};
    if (with.progress != nullptr) with.progress->waits_for_others = true;
    auto const others = with.peers->wait_for_all(step);
    if (with.progress != nullptr) with.progress->waits_for_others = false;
    return others;
}

fs::path folder_while_writing(fs::path const& folder, int step, SaveWith with) {
    return folder /
           fmt::format("{}{:08d}-{}", kWriting, step,
                       with.peers == nullptr ? std::to_string(::getpid()) : with.peers->tag());
}

/// The complete folder gets its name; one that cannot be read makes place, and tidy() removes it.
Result<void> publish(fs::path const& written, fs::path const& target) {
    std::error_code error;
    if (fs::exists(target, error)) {
        fs::path const aside = written.string() + "-replaced";
        if (::rename(target.c_str(), aside.c_str()) != 0)
            return file_error(errno, "rename", target);
    }
    if (::rename(written.c_str(), target.c_str()) != 0) return file_error(errno, "rename", target);
    return {};
}

}  // namespace

CheckpointParts snapshot(CheckpointParts const& live) {
    CheckpointParts copy = live;
    for (File const& file : kFiles) {
        for (TensorParts& each : copy.*file.parts) {
            for (auto& part : each.parts) {
                at::Tensor const values = part.values.detach();
                part.values = values.is_cpu() ? values.clone() : values.to(at::kCPU);
            }
        }
    }
    return copy;
}

Result<SavedCheckpoint> save_checkpoint(fs::path const& folder, CheckpointState const& state,
                                        CheckpointParts const& tensors, int keep, SaveWith with) {
    auto const start = std::chrono::steady_clock::now();
    bool const first = with.peers == nullptr || with.peers->rank() == 0;
    fs::path const target = folder / fmt::format("{}{:08d}", kPrefix, state.step);
    fs::path const temporary = folder_while_writing(folder, state.step, with);
    std::error_code error;
    bool const is_there = first && fs::exists(target, error) && can_be_read(target);
    Result<void> written;
    if (!is_there) {
        fs::create_directories(temporary, error);
        written = error ? Result<void>(file_error(error.value(), "make folder", temporary))
                        : at_step_boundary("write", [&] {
                              return write_tensors(temporary, tensors, first, with.progress);
                          });
    }
    if (!first) {
        OSORA_TRY_VOID(with.peers->share(state.step, written));
        if (written.has_error()) return written.error();
    } else {
        // The others are waited for also when this rank failed: they still write to the folder.
        auto const others = wait_for_all(with, state.step);
        if (written.has_value()) written = others;
        if (written.has_value() && !is_there) written = write_state(temporary, state, tensors);
        if (written.has_value() && !is_there) written = publish(temporary, target);
        if (written.has_error() || is_there) remove_quietly(temporary);
        if (written.has_error()) return written.error();
        OSORA_TRY_VOID(sync_directory(folder));
        tidy(folder, state.step, keep);
    }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    return SavedCheckpoint{target, took.count(), first ? size_of(target) : 0};
}

Error abandon_checkpoint(fs::path const& folder, int step, Error why, SaveWith with) {
    if (with.peers == nullptr) return why;
    if (with.peers->rank() > 0) {
        static_cast<void>(with.peers->share(step, why));
        return why;
    }
    static_cast<void>(wait_for_all(with, step));
    remove_quietly(folder_while_writing(folder, step, with));
    return why;
}

std::vector<fs::path> list_checkpoints(fs::path const& folder) {
    return checkpoints_among(entries_of(folder));
}

Result<std::vector<fs::path>> read_checkpoints(fs::path const& folder) {
    std::error_code error;
    auto const entries = entries_of(folder, error);
    if (error && error != std::errc::no_such_file_or_directory)
        return file_error(error.value(), "read", folder);
    return checkpoints_among(entries);
}

Result<CheckpointState> load_checkpoint_state(fs::path const& path) {
    OSORA_TRY(auto const text, read_file(path / "state.json", std::int64_t{1} << 20));
    auto state = protocol::decode<CheckpointState>(text);
    if (state.has_value()) return std::move(*state);
    return Error{Errc::corrupt, (path / "state.json").string() + ": " + state.error().message};
}

Result<CheckpointWeights> load_checkpoint_weights(fs::path const& path, bool averaged) {
    CheckpointWeights loaded;
    OSORA_TRY(loaded.state, load_checkpoint_state(path));
    if (loaded.state.lora_rank > 0) {
        return Error{Errc::invalid_input,
                     path.string() +
                         ": it keeps LoRA adapters alone; osora model merge adds them "
                         "into the weights"};
    }
    OSORA_TRY(auto model, load_safetensors(path / "model.safetensors"));
    loaded.tensors = std::move(model.tensors);
    if (!averaged) return loaded;
    std::error_code error;
    if (!fs::exists(path / "ema.safetensors", error)) {
        return Error{Errc::not_found, path.string() +
                                          ": it keeps no moving average of the weights "
                                          "(optim.ema_decay = 0): --no-ema"};
    }
    OSORA_TRY(auto const ema, load_safetensors(path / "ema.safetensors"));
    for (NamedTensor& each : loaded.tensors) {
        if (auto const* found = ema.find(each.name); found != nullptr) each.tensor = *found;
    }
    return loaded;
}

Result<LoadedCheckpoint> load_checkpoint(fs::path const& path) {
    LoadedCheckpoint loaded;
    OSORA_TRY(loaded.state, load_checkpoint_state(path));
    auto const& files = loaded.state.files;
    for (File const& file : kFiles) {
        bool const first = &file < kFiles.data() + kFirstFiles;
        if (files.empty() ? !first : std::ranges::find(files, file.name) == files.end()) continue;
        OSORA_TRY(auto content, load_safetensors(path / file.name));
        loaded.tensors.*file.tensors = std::move(content.tensors);
    }
    return loaded;
}

}  // namespace osora::worker
