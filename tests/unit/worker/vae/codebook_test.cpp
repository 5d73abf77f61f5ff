// The codebook against VideoGPT's, brute force and closed forms.
#include "worker/vae/codebook.hpp"

#include "tests/parity/compare.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

struct Fixture {
    explicit Fixture(CodebookConfig const& given) : config(given), book(parameters, given) {}
    at::Tensor tensor(char const* name) const { return parameters.find(name)->tensor; }

    CodebookConfig config;
    Parameters parameters{at::TensorOptions()};
    Codebook book;
};

TEST(Codebook, TrainsAsVideoGpts) {  // tests/data/vae/README.md
    auto const content =
        load_safetensors(OSORA_SOURCE_DIR "/tests/data/vae/codebook.safetensors").value();
    Parameters parameters{at::TensorOptions(at::kDouble)};
    CodebookConfig config;
    config.n_codes = 6;
    config.embedding_dim = 3;
    Codebook book(parameters, config);
    std::int64_t restarted = 0;
    for (int step = 0; step < 5; ++step) {
        SCOPED_TRACE(step);
        auto const tensor = [&](std::string const& name) {
            return content.find(name)->to(at::kDouble);
        };
        auto const out = "out/" + std::to_string(step) + "/";
        at::Tensor const z = tensor("in/" + std::to_string(step) + "/z");
        at::Tensor const first = z.movedim(1, -1).flatten(0, -2).narrow(0, 0, 6);
        if (step == 0) book.initialise(first);
        auto const found = book.quantize(z);
        EXPECT_TRUE(found.codes.equal(*content.find(out + "codes")));
        EXPECT_LE(relative_error(found.embeddings, tensor(out + "embeddings")), kExact);
        EXPECT_NEAR(found.commitment_loss.item<double>(),
                    tensor(out + "commitment_loss").item<double>(), 1e-6);
        EXPECT_NEAR(found.perplexity.item<double>(), tensor(out + "perplexity").item<double>(),
                    1e-6);
        restarted += book.update(found.counts, first);
        for (auto const& [name, buffer, kind] : parameters.all())
            EXPECT_LE(relative_error(buffer, tensor(out + "book/" + name)), kExact) << name;
    }
    EXPECT_GT(restarted, 0);
}

at::Generator generator(std::uint64_t seed) {
    return at::make_generator<at::CPUGeneratorImpl>(seed);
}

TEST(Codebook, TakesTheNearestCode) {
    Fixture test({5, 3});
    at::Tensor const codes = at::randn({5, 3});
    test.book.initialise(codes);
    at::Tensor const z = at::randn({2, 3, 4, 2});
    auto const found = test.book.quantize(z);
    ASSERT_EQ(found.codes.sizes(), (std::vector<std::int64_t>{2, 4, 2}));
    double squares = 0;
    for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t i = 0; i < 8; ++i) {
            at::Tensor const vector = z[b].flatten(1).select(1, i);
            std::int64_t best = 0;
            double least = INFINITY;
            for (std::int64_t code = 0; code < 5; ++code) {
                double const distance = vector.sub(codes[code]).square().sum().item<double>();
                if (distance < least) best = code;
                least = std::min(least, distance);
            }
            squares += least;
            EXPECT_EQ(found.codes[b].flatten()[i].item<std::int64_t>(), best);
            at::Tensor const embedding = found.embeddings[b].flatten(1).select(1, i);
            EXPECT_LE(relative_error(embedding, codes[best]), 1e-6);
        }
    }
    EXPECT_NEAR(found.commitment_loss.item<double>(), 0.25 * squares / 48, 1e-6);
}

TEST(Codebook, GradientsPassStraightToTheInput) {
    Fixture test({4, 2});
    test.book.initialise(at::randn({4, 2}));
    at::Tensor const z = at::randn({3, 2, 5}).requires_grad_(true);
    at::Tensor const weight = at::randn({3, 2, 5});
    test.book.quantize(z).embeddings.mul(weight).sum().backward();
    EXPECT_LE(relative_error(z.grad(), weight), 1e-6);
    z.mutable_grad() = at::Tensor();
    auto const found = test.book.quantize(z);
    found.commitment_loss.backward();  // d/dz 0.25 mean (z - e)^2
    EXPECT_LE(relative_error(z.grad(), z.detach().sub(found.embeddings.detach()).mul(0.5 / 30)),
              1e-5);
}

TEST(Codebook, PerplexityCountsTheCodesInUse) {
    Fixture test({8, 1});
    test.book.initialise(at::arange(8, at::kFloat).view({8, 1}));
    auto const perplexity = [&](at::Tensor const& z) {
        return test.book.quantize(z).perplexity.item<double>();
    };
    EXPECT_NEAR(perplexity(at::arange(8, at::kFloat).view({1, 1, 8})), 8, 1e-4);
    EXPECT_NEAR(perplexity(at::full({1, 1, 8}, 3.0)), 1, 1e-6);
    at::Tensor const quarter = at::full({1, 1, 8}, 3.0);
    quarter.narrow(2, 0, 2).fill_(5);  // shares 1/4 and 3/4
    EXPECT_NEAR(perplexity(quarter), std::exp(-0.25 * std::log(0.25) - 0.75 * std::log(0.75)),
                1e-5);
}

TEST(Codebook, AveragesFollowTheirClosedForm) {
    Fixture test({2, 1, 0.9, 0.25, 0});  // no restarts
    at::Tensor const start = at::full({2, 1}, 0.0);
    start[1] = 10;
    test.book.initialise(start);
    at::Tensor const z = at::full({1, 1, 4}, 1.0);  // four vectors for code 0
    constexpr int kSteps = 30;
    for (int step = 0; step < kSteps; ++step)
        EXPECT_EQ(test.book.update(test.book.quantize(z).counts, start), 0);
    double const kept = std::pow(0.9, kSteps);
    EXPECT_NEAR(test.tensor("N")[0].item<double>(), kept + 4 * (1 - kept), 1e-5);
    EXPECT_NEAR(test.tensor("N")[1].item<double>(), kept, 1e-6);
    EXPECT_NEAR(test.tensor("embeddings")[0].item<double>(),
                4 * (1 - kept) / (kept + 4 * (1 - kept)), 1e-4);
    EXPECT_NEAR(test.tensor("embeddings")[1].item<double>(), 10, 1e-3);  // unused: it stays
}

TEST(Codebook, DeadCodesAreStartedAgain) {
    Fixture test({3, 2});
    at::Tensor const start = at::full({3, 2}, 100.0);
    start[0].fill_(0);
    test.book.initialise(start);
    at::Tensor const restart = at::randn({3, 2});
    at::Tensor const z = at::randn({1, 2, 20}).mul(0.1);
    auto const counts = test.book.quantize(z).counts;
    EXPECT_EQ(test.book.update(counts, restart), 2);  // average use 0.99 < 1
    EXPECT_LE(relative_error(test.tensor("embeddings").narrow(0, 1, 2), restart.narrow(0, 1, 2)),
              1e-6);
    EXPECT_LT(test.tensor("embeddings")[0].abs().max().item<double>(), 0.1);
}

TEST(Codebook, CountsOfRanksAddUp) {
    Fixture test({4, 2});
    test.book.initialise(at::randn({4, 2}));
    at::Tensor const z = at::randn({2, 2, 9});
    auto const all = test.book.quantize(z).counts;
    auto const first = test.book.quantize(z.narrow(0, 0, 1)).counts;
    auto const second = test.book.quantize(z.narrow(0, 1, 1)).counts;
    EXPECT_LE(relative_error(first.uses.add(second.uses), all.uses), kFp32Order);
    EXPECT_LE(relative_error(first.sums.add(second.sums), all.sums), kFp32Order);
}

TEST(Codebook, DrawsVectorsOfTheData) {
    Fixture test({6, 2});
    at::Tensor const many = at::randn({2, 2, 10});
    at::Tensor const drawn = test.book.draw_vectors(many, generator(1));
    EXPECT_TRUE(drawn.equal(test.book.draw_vectors(many, generator(1))));
    EXPECT_FALSE(drawn.equal(test.book.draw_vectors(many, generator(2))));
    at::Tensor const data = many.movedim(1, -1).flatten(0, 1);
    for (std::int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(data.sub(drawn[i]).abs().sum(1).min().item<double>(), 0);
    at::Tensor const few = at::randn({1, 2, 4});
    at::Tensor const repeated = test.book.draw_vectors(few, generator(1));
    ASSERT_EQ(repeated.size(0), 6);
    for (std::int64_t i = 0; i < 6; ++i)
        EXPECT_LT(few[0].t().sub(repeated[i]).abs().sum(1).min().item<double>(), 0.1);
}

}  // namespace
}  // namespace osora::worker
