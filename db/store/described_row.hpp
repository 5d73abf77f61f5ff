// Private to db/: rows whose columns are the members of described structs, under the same names.
// May throw SQLite::Exception.
#pragma once

#include "db/store/connection_internal.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

namespace osora::db {

struct RunKey {
    std::int64_t run_id = 0;
};
BOOST_DESCRIBE_STRUCT(RunKey, (), (run_id))

/// Calls action(name, member) for each member but lists, which have a table of their own.
template <class T, class F>
void for_each_column(T& row, F action) {
    using boost::describe::mod_any_access;
    using Members = boost::describe::describe_members<std::remove_const_t<T>, mod_any_access>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        auto& value = row.*member.pointer;
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (!protocol::is_specialization_of<Value, std::vector>) {
            action(member.name, value);
        }
    });
}

/// `parts`, together, are all columns of the table.
template <class... T>
void insert_row(Connection& connection, std::string_view table, T const&... parts) {
    std::string names, marks;
    auto const add = [&](char const* name, auto const&) {
        names += (names.empty() ? "" : ",") + std::string(name);
        marks += marks.empty() ? "?" : ",?";
    };
    (for_each_column(parts, add), ...);
    auto& row =
        connection.prepared(fmt::format("INSERT INTO {}({}) VALUES({})", table, names, marks));
    int index = 0;
    auto const bind_next = [&](char const*, auto const& value) { bind_one(row, ++index, value); };
    (for_each_column(parts, bind_next), ...);
    row.exec();
}

/// The next row of `SELECT *`, its columns into `parts`. False: there is none.
template <class... T>
bool read_row(SQLite::Statement& row, T&... parts) {
    if (!row.executeStep()) return false;
    auto const read = [&]<class V>(char const* name, V& value) {
        auto const column = row.getColumn(name);
        if constexpr (std::floating_point<V>) {
            value = real_or_nan(column);
        } else if constexpr (std::integral<V>) {
            value = static_cast<V>(column.getInt64());
        } else {
            value = column.getString();
        }
    };
    (for_each_column(parts, read), ...);
    return true;
}

}  // namespace osora::db
