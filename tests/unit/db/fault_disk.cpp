// Each open file has the system's own file behind it; locks and shared memory are passed through.
#include "tests/unit/db/fault_disk.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace osora::db::test {
namespace {

constexpr std::size_t kSectorBytes = 512;

std::string content_of(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

/// The VFS and its files, as SQLite's C interface wants them.
class FaultDisk::Vfs {
public:
    explicit Vfs(FaultDisk& disk) : disk_(disk), below_(sqlite3_vfs_find(nullptr)), vfs_(*below_) {
        vfs_.zName = "fault";
        vfs_.szOsFile = static_cast<int>(sizeof(Handle)) + below_->szOsFile;
        vfs_.pAppData = this;
        vfs_.xOpen = &open;
        vfs_.xDelete = &remove;
        sqlite3_vfs_register(&vfs_, 1);
    }
    ~Vfs() { sqlite3_vfs_unregister(&vfs_); }

private:
    struct Handle {
        sqlite3_file base;
        Vfs* vfs;
        std::string const* path;  // nullptr: a temporary file
        [[nodiscard]] sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
        [[nodiscard]] File& file() { return vfs->disk_.files_[*path]; }
    };
    static Handle& handle(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
    static sqlite3_file* below(sqlite3_file* file) { return handle(file).below(); }

    static int open(sqlite3_vfs* vfs, char const* name, sqlite3_file* file, int flags, int* out) {
        auto& self = *static_cast<Vfs*>(vfs->pAppData);
        auto& opened = handle(file);
        file->pMethods = nullptr;
        if (int const code = self.disk_.next_operation(); code != SQLITE_OK) {
            return code == SQLITE_FULL ? SQLITE_FULL : SQLITE_CANTOPEN;
        }
        opened.vfs = &self;
        int const code = self.below_->xOpen(self.below_, name, opened.below(), flags, out);
        if (code != SQLITE_OK) return code;
        opened.path = name == nullptr ? nullptr : &*self.names_.insert(name).first;
        if (name != nullptr && !self.disk_.files_.contains(name)) {
            self.disk_.files_[name].synced = content_of(name);
        }
        static sqlite3_io_methods const methods = make_methods();
        file->pMethods = &methods;
        return SQLITE_OK;
    }
    static int remove(sqlite3_vfs* vfs, char const* name, int sync) {
        auto& self = *static_cast<Vfs*>(vfs->pAppData);
        if (int const code = self.disk_.next_operation(); code != SQLITE_OK) return code;
        self.disk_.files_.erase(name);
        return self.below_->xDelete(self.below_, name, sync);
    }
    static int close(sqlite3_file* file) {
        auto& closed = handle(file);
        return closed.below()->pMethods == nullptr ? SQLITE_OK
                                                   : closed.below()->pMethods->xClose(below(file));
    }
    static int write(sqlite3_file* file, void const* bytes, int count, sqlite3_int64 offset) {
        auto& written = handle(file);
        if (written.path != nullptr) {
            if (int const code = written.vfs->disk_.next_operation(); code != SQLITE_OK)
                return code;
            written.file().pending.push_back(
                {offset,
                 {static_cast<char const*>(bytes), static_cast<std::size_t>(count)},
                 false});
        }
        return below(file)->pMethods->xWrite(below(file), bytes, count, offset);
    }
    static int truncate(sqlite3_file* file, sqlite3_int64 size) {
        auto& cut = handle(file);
        if (cut.path != nullptr) {
            if (int const code = cut.vfs->disk_.next_operation(); code != SQLITE_OK) return code;
            cut.file().pending.push_back({size, {}, true});
        }
        return below(file)->pMethods->xTruncate(below(file), size);
    }
    static int sync(sqlite3_file* file, int) {
        auto& synced = handle(file);
        if (synced.path != nullptr) {
            if (int const code = synced.vfs->disk_.next_operation(); code != SQLITE_OK) return code;
            auto& known = synced.file();
            for (auto const& change : known.pending) apply(change, known.synced);
            known.pending.clear();
        }
        return SQLITE_OK;  // what is durable is kept here: a real sync would only take time
    }

    static sqlite3_io_methods make_methods() {
        sqlite3_io_methods m{};
        m.iVersion = 2;  // without memory maps
        m.xClose = &close;
        m.xWrite = &write;
        m.xTruncate = &truncate;
        m.xSync = &sync;
        m.xRead = [](sqlite3_file* f, void* to, int count, sqlite3_int64 at) {
            return below(f)->pMethods->xRead(below(f), to, count, at);
        };
        m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
            return below(f)->pMethods->xFileSize(below(f), size);
        };
        m.xLock = [](sqlite3_file* f, int lock) {
            return below(f)->pMethods->xLock(below(f), lock);
        };
        m.xUnlock = [](sqlite3_file* f, int lock) {
            return below(f)->pMethods->xUnlock(below(f), lock);
        };
        m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
            return below(f)->pMethods->xCheckReservedLock(below(f), out);
        };
        m.xFileControl = [](sqlite3_file* f, int operation, void* argument) {
            return below(f)->pMethods->xFileControl(below(f), operation, argument);
        };
        m.xSectorSize = [](sqlite3_file* f) { return below(f)->pMethods->xSectorSize(below(f)); };
        m.xDeviceCharacteristics = [](sqlite3_file* f) {
            return below(f)->pMethods->xDeviceCharacteristics(below(f));
        };
        m.xShmMap = [](sqlite3_file* f, int region, int size, int extend, void volatile** out) {
            return below(f)->pMethods->xShmMap(below(f), region, size, extend, out);
        };
        m.xShmLock = [](sqlite3_file* f, int offset, int count, int flags) {
            return below(f)->pMethods->xShmLock(below(f), offset, count, flags);
        };
        m.xShmBarrier = [](sqlite3_file* f) { below(f)->pMethods->xShmBarrier(below(f)); };
        m.xShmUnmap = [](sqlite3_file* f, int forget) {
            return below(f)->pMethods->xShmUnmap(below(f), forget);
        };
        return m;
    }

    FaultDisk& disk_;
    sqlite3_vfs* below_;
    sqlite3_vfs vfs_;
    std::set<std::string> names_;  // of files that were opened
};

FaultDisk::FaultDisk(Fault fault, int fail_at, bool stays)
    : fault_(fault),
      fail_at_(fail_at),
      stays_(stays || fault == Fault::power_cut),
      vfs_(std::make_unique<Vfs>(*this)) {}
FaultDisk::~FaultDisk() = default;

int FaultDisk::next_operation() {
    int const number = operations_++;
    if (fail_at_ < 0 || number < fail_at_ || (number > fail_at_ && !stays_)) return SQLITE_OK;
    failed_ = true;
    return fault_ == Fault::full ? SQLITE_FULL : SQLITE_IOERR;
}

void FaultDisk::apply(Change const& change, std::string& content) {
    auto const offset = static_cast<std::size_t>(change.offset);
    if (change.truncates) {
        content.resize(std::min(content.size(), offset));
        return;
    }
    content.resize(std::max(content.size(), offset + change.bytes.size()), '\0');
    content.replace(offset, change.bytes.size(), change.bytes);
}

void FaultDisk::settle(std::string const& path, File const& file, std::mt19937_64& random) {
    std::string content = file.synced;
    for (Change change : file.pending) {
        auto const fate = random() % 3;
        if (fate == 0) continue;
        if (fate == 1) {  // torn
            change.bytes.resize(
                std::min(change.bytes.size(),
                         kSectorBytes * (random() % (1 + change.bytes.size() / kSectorBytes))));
        }
        apply(change, content);
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

void FaultDisk::mend(std::uint64_t seed) {
    bool const cut = failed_ && fault_ == Fault::power_cut;
    fail_at_ = -1;
    if (!cut) return;
    std::mt19937_64 random(seed);
    for (auto const& [path, file] : files_) {
        settle(path, file, random);
        std::filesystem::remove(path + "-shm");  // was memory
    }
    files_.clear();
}

}  // namespace osora::db::test
