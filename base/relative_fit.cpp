#include "base/relative_fit.hpp"

#include <algorithm>
#include <numeric>

namespace osora {
namespace {

using Matrix = std::vector<std::vector<long double>>;

/// Normal equations of the terms in `used`, the right side last.
Matrix normal_equations(std::span<RelativeRow const> rows, std::vector<std::size_t> const& used) {
    Matrix m(used.size(), std::vector<long double>(used.size() + 1));
    for (auto const& row : rows) {
        for (std::size_t i = 0; i < used.size(); ++i) {
            long double const value = row[used[i]];
            for (std::size_t k = 0; k < used.size(); ++k) m[i][k] += value * row[used[k]];
            m[i].back() += value;
        }
    }
    return m;
}

}  // namespace

std::vector<double> fit_terms(std::span<RelativeRow const> rows, unsigned set) {
    if (rows.empty()) return {};
    std::vector<std::size_t> used;
    for (std::size_t k = 0; k < rows[0].size(); ++k) {
        if (set >> k & 1U) used.push_back(k);
    }
    Matrix m = normal_equations(rows, used);
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (!(m[i][i] > 1e-15L)) return {};
        for (std::size_t r = 0; r < used.size(); ++r) {
            if (r == i) continue;
            long double const factor = m[r][i] / m[i][i];
            for (std::size_t k = i; k <= used.size(); ++k) m[r][k] -= factor * m[i][k];
        }
    }
    std::vector<double> coefficients(rows[0].size());
    for (std::size_t i = 0; i < used.size(); ++i) {
        coefficients[used[i]] = static_cast<double>(m[i].back() / m[i][i]);
    }
    bool const is_legal = std::ranges::all_of(coefficients, [](double v) { return v >= 0; });
    return is_legal ? coefficients : std::vector<double>{};
}

double squared_error(std::span<RelativeRow const> rows, std::span<double const> coefficients) {
    double sum = 0;
    for (auto const& row : rows) {
        double const off =
            std::inner_product(row.begin(), row.end(), coefficients.begin(), 0.0) - 1;
        sum += off * off;
    }
    return sum;
}

}  // namespace osora
