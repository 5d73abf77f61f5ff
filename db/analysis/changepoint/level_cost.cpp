#include "db/analysis/changepoint/level_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::db::analysis::changepoint {

LevelCost::LevelCost(double low, double high, double cost, int start) : low_(low) {
    pieces_.push_back({.stop = high, .c = cost, .start = start});
}

void LevelCost::push(Piece const& piece) {
    if (!pieces_.empty()) {
        Piece& last = pieces_.back();
        bool const same = last.start == piece.start && last.a == piece.a && last.b == piece.b &&
                          last.c == piece.c;
        if (same) last.stop = piece.stop;
        if (same) return;
    }
    pieces_.push_back(piece);
}

void LevelCost::add(double value, double clip) {
    std::array<double, 2> const edges{value - clip, value + clip};
    std::vector<Piece> old;
    old.swap(pieces_);
    pieces_.reserve(old.size() + edges.size());
    double from = low_;
    for (Piece const& piece : old) {
        while (true) {
            double to = piece.stop;
            for (double const edge : edges) {
                if (edge > from && edge < to) to = edge;
            }
            Piece part = piece;
            part.stop = to;
            double const middle = from + (to - from) / 2;
            if (std::abs(middle - value) < clip) {
                part.a += 1;
                part.b -= 2 * value;
                part.c += value * value;
            } else {
                part.c += clip * clip;
            }
            push(part);
            from = to;
            if (to == piece.stop) break;
        }
    }
}

/// `left` and `right` are valid in all of [from, to]; the piece is cut where they cross.
void LevelCost::push_lower(double from, double to, Piece const& left, Piece const& right) {
    double const a = left.a - right.a, b = left.b - right.b, c = left.c - right.c;
    std::array<double, 2> roots{to, to};
    if (a != 0) {
        double const square = b * b - 4 * a * c;
        if (square > 0) {
            double const q = -0.5 * (b + std::copysign(std::sqrt(square), b));
            roots = {q / a, q == 0 ? to : c / q};
        }
    } else if (b != 0) {
        roots[0] = -c / b;
    }
    std::ranges::sort(roots);
    auto const push_part = [&](double start, double stop) {
        double const m = start + (stop - start) / 2;
        Piece part = (a * m + b) * m + c <= 0 ? left : right;
        part.stop = stop;
        push(part);
    };
    double start = from;
    for (double const root : roots) {
        if (!(root > start && root < to)) continue;
        push_part(start, root);
        start = root;
    }
    push_part(start, to);
}

LevelCost LevelCost::lower_of(LevelCost const& other) const {
    LevelCost lower(low_);
    double from = low_;
    auto right = other.pieces_.begin();
    for (auto left = pieces_.begin(); left != pieces_.end();) {
        double const to = std::min(left->stop, right->stop);
        lower.push_lower(from, to, *left, *right);
        from = to;
        bool const right_ends = right->stop == to && right + 1 != other.pieces_.end();
        if (left->stop == to) ++left;
        if (right_ends) ++right;
    }
    return lower;
}

LevelCost::Lowest LevelCost::lowest() const {
    Lowest lowest{.cost = INFINITY};
    double from = low_;
    for (Piece const& piece : pieces_) {
        double const bottom = piece.a > 0 ? -piece.b / (2 * piece.a) : from;
        double const m = std::clamp(bottom, from, piece.stop);
        double const cost = (piece.a * m + piece.b) * m + piece.c;
        if (cost < lowest.cost) lowest = {cost, piece.start};
        from = piece.stop;
    }
    return lowest;
}

}  // namespace osora::db::analysis::changepoint
