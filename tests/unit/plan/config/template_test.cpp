#include "plan/config/template.hpp"

#include "plan/config/schema.hpp"
#include "protocol/json.hpp"
#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace osora::plan {
namespace {

std::string json_of(RunConfig const& config) {
    return protocol::encode(config);
}

/// `text` with the '#' of commented keys and headers removed.
std::string uncommented(std::string const& text) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        bool const header = line.starts_with("# [");
        bool const key = line.starts_with("# ") && line.find(" = ") != std::string::npos &&
                         std::islower(static_cast<unsigned char>(line[2])) != 0 &&
                         line.find(' ', 2) == line.find(" = ");
        result += (header || key ? line.substr(2) : line) + "\n";
    }
    return result;
}

TEST(Template, ReadsBackAsTheConfigItWasMadeOf) {
    auto const resolved = resolve(run_file_text(starting_config(), "# title"));
    EXPECT_THAT(texts(resolved.problems), testing::IsEmpty());
    EXPECT_EQ(json_of(resolved.config), json_of(starting_config()));
}

TEST(Template, KeepsEveryChangedValue) {
    RunConfig config = starting_config();
    config.slurm.prolog = {{"module", "load", "a \"b\""}};
    config.nccl = {{"NCCL_IB_TC", "106"}};
    config.worker.env = {{"A", "line1\nline2"}};
    config.memory.recompute = std::string("4");
    config.optim.grad_clip = {};
    config.parallel.tp_size = 2;
    config.bisect.auto_mode = "off";
    config.bucket[1].micro_batch_size = 3;
    auto const resolved = resolve(run_file_text(config, "# title"));
    EXPECT_THAT(texts(resolved.problems), testing::IsEmpty());
    EXPECT_EQ(json_of(resolved.config), json_of(config));
}

TEST(Template, CommentedKeysAreValidWhenTheirCommentSignGoes) {
    auto const resolved = resolve(uncommented(run_file_text(starting_config(), "# title")));
    EXPECT_THAT(texts(resolved.problems),
                testing::ElementsAre(testing::HasSubstr("worker.command")));  // needs job = exec
    std::size_t with_origin = 0;
    for (SchemaRow const& row : schema_rows()) {
        std::string const section(row.section == "bucket" ? "bucket[0]" : row.section);
        std::string const key = section + "." + std::string(row.key);
        bool const table = key == "worker.env" || key == "data.columns";  // its entries have
        bool const present = resolved.origins.contains(key) || table;
        EXPECT_TRUE(present) << key;
        with_origin += present ? 1 : 0;
    }
    EXPECT_EQ(with_origin, schema_rows().size());
}

TEST(Template, LinesFitTheScreenOfAnEditor) {
    std::istringstream lines(run_file_text(starting_config(), "# title"));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace osora::plan
