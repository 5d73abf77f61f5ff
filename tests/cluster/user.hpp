// A user on the login node of a bed: a separate folder, osora in it, and the result of a run.
#pragma once

#include "tests/cluster/bed.hpp"
#include "tests/kit/run_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cluster {

class UserTest : public BedTest {
protected:
    void SetUp() override;

    /// osora on ctl, started in folder_.
    [[nodiscard]] Running start(std::vector<std::string> const& arguments) const;
    [[nodiscard]] Ended osora(std::vector<std::string> const& arguments,
                              double limit_s = 2 * tests::kPatience_s) const;
    [[nodiscard]] std::filesystem::path run_dir(std::string const& name = "demo-0001") const;
    [[nodiscard]] tests::RunFolder run(std::string const& name = "demo-0001") const;
    template <class T>
    [[nodiscard]] std::vector<T> events() const {
        return run().events<T>();
    }
    [[nodiscard]] bool nothing_left() const { return run().nothing_left(); }
    [[nodiscard]] std::string logs(std::string const& name = "demo-0001") const {
        return run(name).logs();
    }

    std::filesystem::path folder_;  // its name has a space, quotes and a percent sign
};

}  // namespace osora::cluster
