// A disk under SQLite that fails its k-th operation, is full from then on, or loses power there:
// a VFS on top of the system's, the default of this process while the object lives. Operations are
// open, write, truncate, sync and delete.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace osora::db::test {

enum class Fault { error, full, power_cut };

class FaultDisk {
public:
    /// `fail_at`: number of the operation, -1: none. `stays`: later ones fail as well; after a
    /// power cut they do anyway.
    FaultDisk(Fault fault, int fail_at, bool stays);
    ~FaultDisk();
    FaultDisk(FaultDisk const&) = delete;
    FaultDisk& operator=(FaultDisk const&) = delete;

    [[nodiscard]] int operations() const { return operations_; }
    [[nodiscard]] bool has_failed() const { return failed_; }

    /// Works again. After a power cut each write since a file's last sync is there, is not, or is
    /// there up to a sector, as the seed has it. All connections must be closed.
    void mend(std::uint64_t seed);

    class Vfs;

private:
    struct Change {
        std::int64_t offset = 0;
        std::string bytes;
        bool truncates = false;  // at `offset`
    };
    struct File {
        std::string synced;           // content when it was synced last
        std::vector<Change> pending;  // since then
    };
    /// An SQLite result code: that of the fault when it is due.
    [[nodiscard]] int next_operation();
    static void apply(Change const& change, std::string& content);
    void settle(std::string const& path, File const& file, std::mt19937_64& random);

    Fault fault_;
    int fail_at_;
    bool stays_;
    int operations_ = 0;
    bool failed_ = false;
    std::map<std::string, File> files_;
    std::unique_ptr<Vfs> vfs_;
};

}  // namespace osora::db::test
