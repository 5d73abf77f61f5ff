#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace osora::db::test {
namespace {

using namespace protocol;

std::string query(SQLite::Database& database, std::string const& sql) {
    std::string text;
    SQLite::Statement row(database, sql);
    while (row.executeStep()) {
        for (int i = 0; i < row.getColumnCount(); ++i) {
            auto const column = row.getColumn(i);
            if (column.isNull()) {
                text += "null ";
            } else if (column.isFloat()) {
                text += fmt::format("{:.15g} ", column.getDouble());
            } else {
                text += column.getString() + " ";
            }
        }
        text += "\n";
    }
    return text;
}

/// All columns of `table` but its ids.
std::string columns_of(SQLite::Database& database, std::string const& table) {
    std::string columns;
    SQLite::Statement row(database, "SELECT name FROM pragma_table_info('" + table + "')");
    std::set<std::string> const internal{"run_id",    "series_id",   "node_id", "event_id",
                                         "fp_config", "fp_software", "fp_env",  "fp_hardware"};
    while (row.executeStep()) {
        auto const name = row.getColumn(0).getString();
        if (!internal.contains(name)) columns += ",t." + name;
    }
    return columns;
}

double number_or_nan(double value) {
    return std::isnan(value) ? std::nan("") : value;
}

std::string number(double value) {
    return std::isnan(value) ? "null" : fmt::format("{:.8g}", number_or_nan(value));
}

struct Cell {
    int n = 0, argmax = 0;
    double sum = 0, min = 0, max = 0;
};

/// (step, attempt) -> node -> the first chunk that brought it.
using Arrivals = std::map<std::pair<int, int>, std::map<int, std::pair<MetricChunk const*, int>>>;

Arrivals arrivals_of(Records const& records) {
    Arrivals arrivals;
    for (auto const& record : records) {
        auto const* chunk = std::get_if<MetricChunk>(&record.event);
        if (chunk == nullptr) continue;
        for (int i = 0; i < static_cast<int>(chunk->bucket.size()); ++i) {
            arrivals[{chunk->step0 + i, chunk->attempt}].try_emplace(chunk->node, chunk, i);
        }
    }
    return arrivals;
}

Cell cell_of(std::map<int, std::pair<MetricChunk const*, int>> const& nodes,
             std::string const& metric) {
    Cell cell{.min = INFINITY, .max = -INFINITY};
    for (auto const& [node, place] : nodes) {
        auto const& column = place.first->columns.at(metric);
        auto const i = static_cast<std::size_t>(place.second);
        cell.n += place.first->ranks;
        cell.sum += column.mean[i] * place.first->ranks;
        cell.min = std::min(cell.min, column.min[i]);
        bool const greater =
            std::isnan(column.max[i]) ? !std::isnan(cell.max) : column.max[i] > cell.max;
        bool const same = std::isnan(column.max[i]) && std::isnan(cell.max);
        if (greater || (same && column.argmax[i] < cell.argmax)) cell.argmax = column.argmax[i];
        if (greater) cell.max = column.max[i];
    }
    return cell;
}

}  // namespace

StateDir::StateDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "osora-db-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
}
StateDir::~StateDir() {
    std::filesystem::remove_all(path_);
}

std::string ask(std::filesystem::path const& database, std::string const& sql) {
    SQLite::Database db(database.string(), SQLite::OPEN_READONLY, 5000);
    SQLite::Statement row(db, sql);
    std::string text;
    while (row.executeStep()) {
        for (int i = 0; i < row.getColumnCount(); ++i) {
            text += (i > 0 ? "|" : "") + row.getColumn(i).getString();
        }
        text += "\n";
    }
    return text;
}

std::string dump(std::filesystem::path const& database) {
    SQLite::Database db(database.string(), SQLite::OPEN_READONLY, 5000);
    std::string text = query(db, "SELECT * FROM pragma_integrity_check");
    for (char const* table :
         {"run", "run_node", "run_rank", "event", "plan", "plan_bucket", "plan_batch", "step",
          "measured", "measured_bucket", "node_health", "gpu_health", "launch", "span",
          "run_window", "stale", "collective_sum"}) {
        std::string const source = table == std::string("run")
                                       ? "run t JOIN run r USING(run_id)"
                                       : std::string(table) + " t JOIN run r USING(run_id)";
        auto const columns = columns_of(db, table);
        text +=
            std::string(table) + ":\n" +
            query(db, "SELECT r.uuid" + columns + " FROM " + source + " ORDER BY r.uuid" + columns);
    }
    text += query(db,
                  "SELECT r.uuid,m.name,m.unit,s.step,s.n,s.mean,s.vmin,s.vmax,s.argmax FROM "
                  "step_summary s JOIN run r USING(run_id) JOIN metric m USING(metric_id) "
                  "ORDER BY 1,2,4");
    text += query(db,
                  "SELECT r.uuid,m.name,x.sequence,x.attempt,x.step0,x.steps,x.node,x.first_rank,"
                  "x.ranks,hex(x.data) FROM rank_matrix x JOIN run r USING(run_id) JOIN metric m "
                  "USING(metric_id) ORDER BY 1,2,3");
    text += query(db,
                  "SELECT r.uuid,g.uuid,c.verdict,c.gap_s,a.part,a.good_s,a.run_s,a.gap_s FROM "
                  "comparison c JOIN attribution a USING(run_id) JOIN run r USING(run_id) JOIN run "
                  "g ON g.run_id=c.good_run_id ORDER BY 1,a.ordinal");
    text += query(db,
                  "SELECT s.name,r.uuid,p.ordinal,p.before_s,p.after_s,p.low_run,p.high_run FROM "
                  "change_point p JOIN series s USING(series_id) JOIN run r USING(run_id) "
                  "ORDER BY 1,2,3");
    text += query(db, "SELECT s.name FROM stale_series JOIN series s USING(series_id) ORDER BY 1");
    text += query(db,
                  "SELECT i.id,i.kind,i.verdict,i.p,t.sequence,t.changed,t.status,t.value_s,"
                  "t.run_name FROM investigation i LEFT JOIN trial t USING(investigation_id) "
                  "ORDER BY 1,5");
    text += query(db,
                  "SELECT i.id,c.ordinal,c.item,c.good,c.bad,c.share,c.holds FROM investigation i "
                  "JOIN culprit c USING(investigation_id) ORDER BY 1,2");
    text += query(db,
                  "SELECT r.uuid,s.name,s.work FROM run r JOIN series s USING(series_id) "
                  "ORDER BY 1");
    text += query(db,
                  "SELECT r.uuid,f.kind,f.sha256,f.n_items,i.key,i.value FROM run r JOIN "
                  "fingerprint f ON f.fp_id IN(fp_config,fp_software,fp_env,fp_hardware) JOIN "
                  "fp_item i USING(fp_id) ORDER BY 1,2,5");
    text += query(db,
                  "SELECT count(*) FROM fingerprint UNION ALL SELECT count(*) FROM fp_item "
                  "UNION ALL SELECT count(*) FROM series");
    text += query(db, "SELECT hostname,first_seen_us,last_seen_us FROM node ORDER BY 1");
    text += query(db,
                  "SELECT r.uuid,n.node,h.hostname FROM run_node n JOIN run r USING(run_id) "
                  "LEFT JOIN node h USING(node_id) ORDER BY 1,2");
    return text;
}

std::string dump_steps(std::filesystem::path const& database) {
    SQLite::Database db(database.string(), SQLite::OPEN_READONLY, 5000);
    SQLite::Statement row(
        db,
        "SELECT t.step,t.attempt,t.ranks,t.samples,t.bucket,t.repeated,m.name,s.n,"
        "s.mean,s.vmin,s.vmax,s.argmax FROM step t JOIN step_summary s "
        "USING(run_id,step) JOIN metric m USING(metric_id) ORDER BY t.step,m.name");
    std::string text;
    while (row.executeStep()) {
        for (int i = 0; i < 8; ++i) text += row.getColumn(i).getString() + " ";
        for (int i = 8; i < 11; ++i) {
            auto const column = row.getColumn(i);
            text += number(column.isNull() ? std::nan("") : column.getDouble()) + " ";
        }
        text += row.getColumn(11).getString() + "\n";
    }
    return text;
}

std::string expected_steps(Records const& records) {
    auto const arrivals = arrivals_of(records);
    std::map<int, std::set<int>> attempts;
    for (auto const& [key, nodes] : arrivals) attempts[key.first].insert(key.second);
    std::string text;
    for (auto const& [step, of_step] : attempts) {
        auto const& nodes = arrivals.at({step, *of_step.rbegin()});
        int ranks = 0, samples = 0;
        std::string bucket;
        for (auto const& [node, place] : nodes) {
            ranks += place.first->ranks;
            samples += place.first->samples[static_cast<std::size_t>(place.second)];
            bucket = place.first->bucket[static_cast<std::size_t>(place.second)];
        }
        for (auto const& [metric, column] : nodes.begin()->second.first->columns) {
            auto const cell = cell_of(nodes, metric);
            text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}\n", step, *of_step.rbegin(),
                                ranks, samples, bucket, of_step.size() - 1, metric, cell.n,
                                number(cell.sum / cell.n), number(cell.min), number(cell.max),
                                cell.argmax);
        }
    }
    return text;
}

}  // namespace osora::db::test
