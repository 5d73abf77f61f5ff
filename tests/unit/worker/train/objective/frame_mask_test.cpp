// Masks against recorded ones of Open-Sora 1.2 and its frequencies, and the guard.
#include "worker/train/objective/frame_mask.hpp"

#include "base/text/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

namespace osora::worker {
namespace {

std::string content(std::string const& name) {
    std::ifstream file(OSORA_SOURCE_DIR "/tests/data/masks/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(std::string const& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

/// `strategy` of the recordings: a name, or the mixture of stage 1.
MaskMixture mixture(std::string const& strategy, MaskRule rule) {
    using enum MaskStrategy;
    if (strategy == "stage1_mixture") {
        return *MaskMixture::make({{random, 0.05},
                                   {intepolate, 0.005},
                                   {quarter_random, 0.005},
                                   {quarter_head, 0.005},
                                   {quarter_tail, 0.005},
                                   {quarter_head_tail, 0.005},
                                   {image_random, 0.025},
                                   {image_head, 0.05},
                                   {image_tail, 0.025},
                                   {image_head_tail, 0.025}},
                                  rule);
    }
    return *MaskMixture::make({{*mask_strategy(strategy), 1.0}}, rule);
}

/// Gives recorded draws back; any other kind, range or number of draws is a failure.
class Recording {
public:
    explicit Recording(std::string const& text) {
        for (std::string const& draw : split(text, ';')) {
            auto const at = draw.find('=');
            std::string const kind = draw.substr(0, at);
            for (std::string const& value : split(draw.substr(at + 1), '|')) {
                draws_.emplace_back(kind, std::stod(value));
            }
        }
    }

    MaskDraws draws() {
        return {.pick = [this] { return next("pick"); },
                .integer =
                    [this](int first, int last) {
                        return static_cast<int>(next("randint(" + std::to_string(first) + "," +
                                                     std::to_string(last) + ")"));
                    },
                .real =
                    [this](double low, double high) {
                        EXPECT_EQ(low, 0.1);
                        EXPECT_EQ(high, 0.9);
                        return next("uniform");
                    },
                .frame = [this] { return static_cast<float>(next("rand")); }};
    }
    [[nodiscard]] bool used_up() const { return draws_.empty(); }

private:
    double next(std::string const& kind) {
        if (draws_.empty()) {
            ADD_FAILURE() << "a draw that Open-Sora did not make: " << kind;
            return 0.0;
        }
        auto const [recorded, value] = draws_.front();
        draws_.pop_front();
        EXPECT_EQ(kind, recorded);
        return value;
    }
    std::deque<std::pair<std::string, double>> draws_;
};

std::string text_of(Result<std::vector<bool>> const& mask) {
    if (mask.has_error()) return "ValueError";
    std::string text;
    for (bool const noised : *mask) text += noised ? '1' : '0';
    return text;
}

TEST(FrameMask, AgreesWithOpenSoraOnEveryRecordedMask) {
    std::string const csv = content("C_masks.csv");
    CsvReader reader(csv);
    (void)reader.next();
    int rows = 0;
    std::map<std::string, int> results;
    while (auto const row = reader.next()) {
        auto const& cells = row->fields;
        ASSERT_EQ(cells.size(), 5u) << "line " << row->line;
        int const frames = std::stoi(cells[1]);
        Recording original(cells[3]);
        auto const mask = mixture(cells[0], MaskRule::original).draw(frames, original.draws());
        EXPECT_EQ(text_of(mask), cells[4]) << "line " << row->line;
        EXPECT_TRUE(original.used_up()) << "line " << row->line;
        bool const guarded = cells[4] == "ValueError" || cells[4].find('1') == std::string::npos;
        ++results[guarded ? "guarded" : "plain"];
        ++rows;
        if (guarded) continue;
        Recording again(cells[3]);
        EXPECT_EQ(text_of(mixture(cells[0], MaskRule::osora).draw(frames, again.draws())), cells[4])
            << "line " << row->line;
    }
    EXPECT_EQ(rows, 432);
    EXPECT_EQ(results["guarded"], 36);  // quarter_* of 2 and 3 frames, image_head_tail of 2
}

TEST(FrameMask, FramesAreConditionedAsOftenAsInOpenSora) {
    std::string const csv = content("C_mask_frequencies.csv");
    CsvReader reader(csv);
    (void)reader.next();
    int rows = 0;
    while (auto const row = reader.next()) {
        int const frames = std::stoi(row->fields[1]);
        int const samples = std::stoi(row->fields[2]);
        auto const expected = split(row->fields[3], ' ');
        auto const masks = mixture(row->fields[0], MaskRule::osora);
        std::vector<int> given(static_cast<std::size_t>(frames), 0);
        for (int sample = 0; sample < samples; ++sample) {
            SampleRng rng(
                sample_key(42, 0, static_cast<std::uint64_t>(sample), RngPurpose::frame_mask));
            auto const mask = *masks.draw(frames, draws_from(rng));
            for (std::size_t i = 0; i < mask.size(); ++i) given[i] += mask[i] ? 0 : 1;
        }
        ASSERT_EQ(expected.size(), given.size());
        for (std::size_t i = 0; i < given.size(); ++i) {
            double const p = std::stod(expected[i]);
            // Two shares of `samples` draws each; the recorded one has four digits.
            double const bound = 4.5 * std::sqrt(2 * p * (1 - p) / samples) + 5e-5;
            EXPECT_NEAR(given[i] / double(samples), p, bound)
                << row->fields[0] << ", frame " << i << " of " << frames;
        }
        ++rows;
    }
    EXPECT_EQ(rows, 36);
}

TEST(FrameMask, SomethingIsLeftToTrainOn) {
    for (int strategy = 0; strategy <= static_cast<int>(MaskStrategy::intepolate); ++strategy) {
        for (int frames = 1; frames < 40; ++frames) {
            for (std::uint64_t sample = 0; sample < 50; ++sample) {
                SampleRng rng(sample_key(1, 2, sample, RngPurpose::frame_mask));
                auto const mask = *frame_mask(static_cast<MaskStrategy>(strategy), frames,
                                              MaskRule::osora, draws_from(rng));
                ASSERT_NE(std::ranges::count(mask, true), 0) << strategy << " " << frames;
            }
        }
    }
    SampleRng rng(1);
    auto const draws = draws_from(rng);
    using enum MaskStrategy;
    EXPECT_EQ(text_of(frame_mask(image_head_tail, 2, MaskRule::osora, draws)), "01");
    EXPECT_EQ(text_of(frame_mask(quarter_head, 3, MaskRule::osora, draws)), "011");
    EXPECT_EQ(text_of(frame_mask(quarter_head_tail, 3, MaskRule::osora, draws)), "010");
}

TEST(FrameMask, MixturesRefuseWhatIsNoDistribution) {
    using enum MaskStrategy;
    auto const message = [](std::vector<MaskMixture::Part> parts) {
        auto const made = MaskMixture::make(std::move(parts));
        return made.has_error() ? made.error().message : std::string("accepted");
    };
    EXPECT_EQ(message({{random, 0.5}, {random, 0.5}}), "mask weights: random is given twice");
    EXPECT_EQ(message({{random, -0.5}, {image_head, 1.5}}),
              "mask weights: random -0.5 is outside [0, 1]; image_head 1.5 is outside [0, 1]");
    EXPECT_EQ(message({{random, 0.75}, {image_head, 0.75}}),
              "mask weights: the weights sum to 1.5, not at most 1");
    EXPECT_EQ(message({{identity, 0.5}, {image_head, 0.25}}),
              "mask weights: the weights sum to 0.75, not 1");
    EXPECT_EQ(MaskMixture::make({})->parts().front().weight, 1.0);
    EXPECT_EQ(mask_strategy("interpolate").error().message,
              "mask strategy \"interpolate\": unknown; did you mean intepolate");
}

}  // namespace
}  // namespace osora::worker
