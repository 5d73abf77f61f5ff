#include "tests/e2e_worker/cache_fixture.hpp"

#include "base/files/files.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/text/clip_text_encoder.hpp"
#include "worker/text/t5_encoder.hpp"

#include <ATen/TensorOperators.h>

#include <fstream>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

constexpr int kTextWidth = 16;

/// In the form of Hugging Face: config.json, model.safetensors, spiece.model.
void make_t5(fs::path const& folder) {
    fs::create_directories(folder);
    fs::copy_file(OSORA_SOURCE_DIR "/tests/data/text/tiny.model", folder / "spiece.model");
    std::ofstream(folder / "config.json")
        << R"({"model_type": "t5", "feed_forward_proj": "gated-gelu", "vocab_size": 320,
"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2})";
    worker::T5Config config;
    config.vocab_size = 320;
    config.d_model = kTextWidth;
    config.d_kv = 8;
    config.d_ff = 32;
    config.num_layers = 2;
    config.num_heads = 2;
    worker::T5Encoder encoder(config, at::TensorOptions());
    for (auto const& [name, tensor, kind] : encoder.parameters().all())
        tensor.normal_(0, 0.3, worker::generator_for(1, name));
    auto const saved =
        worker::save_safetensors(folder / "model.safetensors", encoder.parameters().all());
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
}

}  // namespace

void CacheTest::make_clip_folder(fs::path const& folder) {
    fs::create_directories(folder);
    for (auto const* file : {"vocab.json", "merges.txt"})
        fs::copy_file(fs::path(OSORA_SOURCE_DIR "/tests/data/text/clip") / file, folder / file);
    worker::ClipTextConfig config;
    config.vocab_size = 774;
    config.hidden_size = kClipWidth;
    config.intermediate_size = 32;
    config.num_hidden_layers = config.num_attention_heads = 2;
    config.max_position_embeddings = 77;
    config.eos_token_id = 773;
    std::ofstream(folder / "config.json")
        << R"({"model_type": "clip_text_model", "vocab_size": 774, "hidden_size": 24,
"intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
"max_position_embeddings": 77, "eos_token_id": 773})";
    worker::ClipTextEncoder encoder(config, at::TensorOptions());
    for (auto const& [name, tensor, kind] : encoder.parameters().all())
        tensor.normal_(0, 0.3, worker::generator_for(1, name));
    auto const saved =
        worker::save_safetensors(folder / "model.safetensors", encoder.parameters().all());
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
}

void CacheTest::SetUp() {
    WorkerTest::SetUp();
    for (int i = 0; i < 5; ++i) {
        std::string const name = "clip " + std::to_string(i) + ".mp4";
        make_clip(name, i % 2 == 0 ? "64x64" : "96x64", i);
        captions_.emplace_back(name,
                               i == 4 ? "" : "a clip with the number " + std::to_string(i % 3));
    }
    captions_[1].second = "two words, \"quoted\" \n and a second line";
    write_captions(captions_);
    make_t5(folder_ / "t5");
}

void CacheTest::write_captions(std::vector<std::pair<std::string, std::string>> const& rows) {
    std::ofstream file(folder_ / "clips.csv");
    file << "path,text\n";
    for (auto const& [path, text] : rows) {
        std::string quoted;
        for (char const c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
        file << path << ",\"" << quoted << "\"\n";
    }
}

plan::WorkerJob CacheTest::encode_job(int ranks, std::string const& out) const {
    auto made = job(ranks, 1);
    auto& config = made.config;
    config.run.job = "encode";
    config.model.patch_size = 2;
    config.vae.arch = "tiny";
    config.text.encoder = "t5";
    config.encode.out = out;
    config.bucket = {
        {.resolution = "64", .num_frames = 8, .keep_prob = 0.5, .micro_batch_size = {}},
        {.resolution = "48", .num_frames = 5, .keep_prob = 1, .micro_batch_size = {}},
        {.resolution = "64", .num_frames = 1, .keep_prob = 0.5, .micro_batch_size = {}}};
    made.plan.chosen.buckets.clear();
    for (auto const& bucket : config.bucket) {
        plan::BucketPlan plan;
        plan.resolution = bucket.resolution;
        plan.num_frames = bucket.num_frames;
        plan.micro_batch_size = bucket.num_frames == 1 ? 4 : 1;
        made.plan.chosen.buckets.push_back(plan);
    }
    return made;
}

plan::WorkerJob CacheTest::train_job(int ranks, int steps, std::string const& cache) const {
    auto made = encode_job(ranks, "");
    auto& config = made.config;
    config.run.job = "train";
    config.text.encoder = "";
    config.text.embeddings = cache;
    config.data.manifest = "";
    config.data.latents = cache;
    config.model.in_channels = 4;
    config.model.text_tokens = 64;
    config.model.caption_channels = kTextWidth;
    config.train.steps = steps;
    for (auto& plan : made.plan.chosen.buckets) {
        plan.global_batch_size = 4;
        plan.micro_batch_size = 4 / ranks;
    }
    return made;
}

void CacheTest::encode(std::string const& out) {
    auto const ended = run(encode_job(1, out), 1)[0];
    ASSERT_EQ(ended.exit_code, 0) << last_output_lines(ended);
}

protocol::CacheIndex CacheTest::index_of(std::string const& out) const {
    auto index = protocol::open_cache(folder_ / out);
    EXPECT_TRUE(index.has_value()) << index.error().message;
    return index.has_value() ? *index : protocol::CacheIndex();
}

std::map<std::string, std::string> CacheTest::files_of(std::string const& out) const {
    std::map<std::string, std::string> files;
    for (auto const& entry : fs::recursive_directory_iterator(folder_ / out)) {
        if (!entry.is_regular_file()) continue;
        files[fs::relative(entry.path(), folder_ / out)] = *read_file(entry.path());
    }
    return files;
}

std::string CacheTest::last_output_lines(WorkerRun const& run) {
    auto const failed = run.of("failed");
    return failed.empty() ? std::string() : std::string(failed[0].at("message").as_string());
}

}  // namespace osora::tests
