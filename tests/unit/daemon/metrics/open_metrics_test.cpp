// Metrics as text: escapes, numbers, the two formats, and which one a client gets.
#include "daemon/metrics/open_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace osora::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

MetricFamily family(MetricType type, std::vector<MetricSample> samples) {
    return {.name = "x_seconds",
            .type = type,
            .unit = "seconds",
            .help = "A \\ \"word\".",
            .samples = std::move(samples)};
}

TEST(OpenMetrics, AFamilyWithEverything) {
    auto const summary = family(
        MetricType::summary, {{.suffix = "_count", .value = 3}, {.suffix = "_sum", .value = 0.75}});
    EXPECT_EQ(metrics_text({summary}, {{"run", "7"}}, MetricsFormat::open_metrics),
              "# TYPE x_seconds summary\n# UNIT x_seconds seconds\n"
              "# HELP x_seconds A \\\\ \\\"word\\\".\n"
              "x_seconds_count{run=\"7\"} 3\nx_seconds_sum{run=\"7\"} 0.75\n# EOF\n");
}

TEST(OpenMetrics, NoSamplesNoFamily) {
    EXPECT_EQ(metrics_text({family(MetricType::gauge, {})}, {}, MetricsFormat::open_metrics),
              "# EOF\n");
    EXPECT_EQ(metrics_text({family(MetricType::gauge, {})}, {}, MetricsFormat::prometheus), "");
}

TEST(OpenMetrics, TypesThatTheOlderFormatLacksAreGauges) {
    MetricFamily info{.name = "x", .type = MetricType::info, .unit = "", .help = "h"};
    info.samples.push_back({.value = 1});
    EXPECT_EQ(metrics_text({info}, {}, MetricsFormat::open_metrics),
              "# TYPE x info\n# HELP x h\nx_info 1\n# EOF\n");
    EXPECT_EQ(metrics_text({info}, {}, MetricsFormat::prometheus),
              "# TYPE x_info gauge\n# HELP x_info h\nx_info 1\n");
    info.type = MetricType::counter;
    EXPECT_EQ(metrics_text({info}, {}, MetricsFormat::open_metrics),
              "# TYPE x counter\n# HELP x h\nx_total 1\n# EOF\n");
    EXPECT_EQ(metrics_text({info}, {}, MetricsFormat::prometheus),
              "# TYPE x_total counter\n# HELP x_total h\nx_total 1\n");
}

TEST(OpenMetrics, LabelsFromOutsideStayInTheirQuotes) {
    auto const gauge =
        family(MetricType::gauge, {{.labels = {{"host", "a\"} 1\n# EOF\n\\"}}, .value = 1},
                                   {.labels = {{"host", "\xff\x1b[31m\u00e9"}}, .value = 2}});
    auto const text = metrics_text({gauge}, {}, MetricsFormat::open_metrics);
    EXPECT_THAT(text, HasSubstr("x_seconds{host=\"a\\\"} 1\\n# EOF\\n\\\\\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("x_seconds{host=\"??[31m\u00e9\"} 2\n"));
}

TEST(OpenMetrics, NumbersThatAreNoNumbers) {
    double const infinity = std::numeric_limits<double>::infinity();
    auto const gauge = family(MetricType::gauge, {{.value = std::nan("")},
                                                  {.value = infinity},
                                                  {.value = -infinity},
                                                  {.value = 1e300},
                                                  {.value = 5e-324}});
    auto const text = metrics_text({gauge}, {}, MetricsFormat::prometheus);
    EXPECT_THAT(text, HasSubstr("x_seconds NaN\nx_seconds +Inf\nx_seconds -Inf\n"
                                "x_seconds 1e+300\nx_seconds 5e-324\n"));
}

TEST(OpenMetrics, TheFormatThatAcceptPrefers) {
    using enum MetricsFormat;
    constexpr char const* kOpen = "application/openmetrics-text";
    // Prometheus 2.53 and 3.0, with their defaults.
    EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0;q=0.5,application/"
                         "openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,"
                         "*/*;q=0.2"),
              open_metrics);
    EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                         "text/plain;version=0.0.4;q=0.3,*/*;q=0.1"),
              open_metrics);
    // With scrape_protocols: [PrometheusText0.0.4].
    EXPECT_EQ(format_for("text/plain;version=0.0.4;q=0.5,*/*;q=0.2"), prometheus);
    EXPECT_EQ(format_for("TEXT/plain"), prometheus);
    for (char const* accept : {"", "*/*", "text/html", "text/plain;q=0", "text/plain;q=2",
                               "text/plain;q=nan", "text/plain; version=9", ",;=,;;q", kOpen,
                               "text/plain;q=0.5, application/openmetrics-text"}) {
        EXPECT_EQ(format_for(accept), open_metrics) << accept;
    }
    EXPECT_EQ(format_for("application/openmetrics-text; version=2.0.0, text/plain"), prometheus);
}

}  // namespace
}  // namespace osora::daemon
