// Merges the chunks of an attempt's nodes into the records of the journal. A step is released when
// all nodes that report steps have reported it, or (the caller's decision) when it has waited for
// long. Part of the controller core; pure.
#pragma once

#include "daemon/clock.hpp"
#include "protocol/steps/merged_steps.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::daemon {

class StepMerger {
public:
    static constexpr std::size_t kFiguresMax = 64;  // others are left out
    static constexpr int kRecordSteps = 128;        // keeps a record far below its limit
    static constexpr std::size_t kRowsMax = 16384;  // waiting rows; beyond it the caller takes them

    explicit StepMerger(int ranks_per_node) : ranks_per_node_(ranks_per_node) {}

    /// Forgets the nodes; waiting rows must have been taken before.
    void begin(int attempt);
    /// Steps of `chunk` from `first` on. Its vectors have the same length; its steps come after
    /// those that its node has reported before.
    void add(protocol::MetricChunk const& chunk, int first, MonotonicTime now);

    /// The oldest steps as far as all nodes have reported them; with `partial` all.
    [[nodiscard]] std::vector<protocol::MergedSteps> take(bool partial);

    /// Steps of `node` below the result are in records that were taken.
    [[nodiscard]] int taken_to(int node) const;
    /// When the step that waits longest arrived; kNever: none waits.
    [[nodiscard]] MonotonicTime oldest() const;
    [[nodiscard]] std::size_t rows() const { return rows_.size(); }

private:
    struct Row {
        MonotonicTime since{};
        int ranks = 0, samples = 0;
        std::string bucket;
        std::vector<protocol::FigureSummary> figures;  // by the number of their name; may be short
    };
    struct Node {
        protocol::NodeReport newest;
        int taken_to = 0;
    };
    [[nodiscard]] protocol::MergedSteps take_record(int stop);
    void append(protocol::MergedSteps& record, Row const& row) const;
    [[nodiscard]] std::vector<protocol::NodeReport> nodes_up_to(int end);
    /// All nodes that report steps have reported those below, in this record or an earlier one.
    [[nodiscard]] int reported_by_all() const;

    int ranks_per_node_;
    int attempt_ = 0;
    std::map<std::string, std::size_t> names_;  // of figures, numbered in order of arrival
    std::map<int, Row> rows_;                   // by step
    std::map<int, Node> nodes_;                 // that have reported any step of this attempt
    std::map<int, int> nodes_at_;               // how many of them continue with a step
};

}  // namespace osora::daemon
