#include "plan/config/schema.hpp"

#include "plan/config/fields.hpp"
#include "plan/config/run_file.hpp"

#include <gtest/gtest.h>
#include <boost/mp11.hpp>

#include <set>
#include <string>

namespace osora::plan {
namespace {

/// "section.member" of every key of RunConfig, by Boost.Describe alone.
std::set<std::string> described_members() {
    std::set<std::string> names;
    auto const add = [&]<class Section>(std::string const& section, Section const&) {
        using Members = boost::describe::describe_members<Section, boost::describe::mod_public>;
        boost::mp11::mp_for_each<Members>(
            [&](auto member) { names.insert(section + "." + member.name); });
    };
    RunConfig const config;
    using Sections = boost::describe::describe_members<RunConfig, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Sections>([&](auto section) {
        auto const& value = config.*section.pointer;
        using Section = std::remove_cvref_t<decltype(value)>;
        if constexpr (boost::describe::has_describe_members<Section>::value) {
            add(section.name, value);
        }
    });
    add("bucket", BucketSection{});
    return names;
}

TEST(Schema, RowsAndMembersAreTheSameSet) {
    std::set<std::string> rows;
    for (SchemaRow const& row : schema_rows()) {
        std::string const member(row.member.empty() ? row.key : row.member);
        EXPECT_TRUE(rows.insert(std::string(row.section) + "." + member).second)
            << row.section << "." << row.key << " twice";
    }
    EXPECT_EQ(rows, described_members());
}

TEST(Schema, EveryRowHasAKnownSectionAndASentence) {
    for (SchemaRow const& row : schema_rows()) {
        EXPECT_NE(find_section(row.section), nullptr) << row.section;
        EXPECT_TRUE(row.doc.ends_with(".")) << row.section << "." << row.key << ": " << row.doc;
        EXPECT_LE(row.min, row.max) << row.key;
    }
    EXPECT_EQ(find_row("bisect", "auto_mode"), nullptr);
    ASSERT_NE(find_row("bisect", "auto"), nullptr);
}

TEST(Schema, FieldsPointIntoTheConfigInTheOrderOfTheTable) {
    RunConfig config;
    auto const fields = fields_of(config);
    EXPECT_EQ(fields.size() + fields_of(config.bucket.emplace_back()).size(), schema_rows().size());
    EXPECT_EQ(fields.front().row->key, "name");
    EXPECT_EQ(std::get<std::string*>(fields.front().value), &config.run.name);
    EXPECT_EQ(fields.back().row->key, "memory_guard");
}

TEST(Schema, ValuesAsToml) {
    RunConfig config;
    config.run.name = "a \"b\"\n\x01";
    config.optim.lr = 1e-5;
    config.memory.gpu_memory_gib = 80;
    config.slurm.prolog = {{"module", "load"}, {"x"}};
    config.worker.env = {{"A", "1"}, {"B C", "2"}};
    EXPECT_EQ(value_text(config, "run.name"), R"("a \"b\"\n\u0001")");
    EXPECT_EQ(value_text(config, "optim.lr"), "1e-05");
    EXPECT_EQ(value_text(config, "memory.gpu_memory_gib"), "80.0");
    EXPECT_EQ(value_text(config, "slurm.prolog"), R"([["module", "load"], ["x"]])");
    EXPECT_EQ(value_text(config, "worker.env"), R"({ A = "1", "B C" = "2" })");
    EXPECT_EQ(value_text(config, "parallel.tp_size"), "\"auto\"");
    EXPECT_EQ(value_text(config, "no.such"), "");
}

}  // namespace
}  // namespace osora::plan
