// Private to partition.cpp: the cost of a series as a function of the level m of its last segment,
// a piecewise quadratic that is made smaller piece by piece (functional pruning: Maidstone et al.
// 2017; with a clipped cost: Fearnhead and Rigaill 2019). Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace osora::db::analysis::changepoint {

class LevelCost {
public:
    /// `cost` for every m in [low, high]; the last segment starts at `start`.
    LevelCost(double low, double high, double cost, int start);

    /// Adds min((value - m)^2, clip^2).
    void add(double value, double clip);

    /// Takes the smaller of both at every m.
    [[nodiscard]] LevelCost lower_of(LevelCost const& other) const;

    struct Lowest {
        double cost = 0;
        int start = 0;
    };
    [[nodiscard]] Lowest lowest() const;

    /// The number of pieces, which determines the time of the calls above.
    [[nodiscard]] std::size_t size() const { return pieces_.size(); }

private:
    /// a m^2 + b m + c from the piece before up to m = stop.
    struct Piece {
        double stop = 0;
        double a = 0, b = 0, c = 0;
        int start = 0;
    };
    explicit LevelCost(double low) : low_(low) {}
    void push(Piece const& piece);
    void push_lower(double from, double to, Piece const& left, Piece const& right);

    double low_;
    std::vector<Piece> pieces_;
};

}  // namespace osora::db::analysis::changepoint
