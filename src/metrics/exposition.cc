#include "metrics/exposition.h"

#include <charconv>
#include <utility>

#include "holdfast/text.h"

namespace holdfast::internal {

namespace {

// Longer names are cut: a page is fetched every few seconds.
constexpr std::size_t kMaxLabelBytes = 200;

class Page {
 public:
  // Begins a metric; all its samples follow.
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    add("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }

  void sample(const std::string& labels, std::uint64_t value) {
    add(name_, "{", labels, "} ", std::to_string(value), "\n");
  }

  void outcome(const std::string& labels, std::string_view outcome, std::uint64_t value) {
    labelled(labels, "outcome", outcome, value);
  }

  void labelled(const std::string& labels, std::string_view label, std::string_view of,
                std::uint64_t value) {
    add(name_, "{", labels, ",", label, "=\"", of, "\"} ", std::to_string(value), "\n");
  }

  // Failures of a kind that never came are left out.
  void failures(const std::string& labels, const Outcomes& outcomes,
                std::string_view label = "outcome") {
    for (std::size_t i = 0; i < kCodes; ++i) {
      if (outcomes.failures[i] == 0) continue;
      labelled(labels, label, code_name(static_cast<Code>(i)), outcomes.failures[i]);
    }
  }

  void histogram(const std::string& labels, const Histogram& histogram) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      total += histogram.counts[i];
      const std::string_view up_to = i < kBuckets.size() ? kBuckets[i].label : "+Inf";
      add(name_, "_bucket{", labels, ",le=\"", up_to, "\"} ", std::to_string(total), "\n");
    }
    add(name_, "_sum{", labels, "} ", number(histogram.seconds), "\n");
    add(name_, "_count{", labels, "} ", std::to_string(total), "\n");
  }

  std::string take() { return std::move(text_); }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    (text_.append(parts), ...);
  }

  // printf() would write the decimal point of the host's locale.
  static std::string number(double value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return std::string(digits, end);
  }

  std::string text_;
  std::string_view name_;
};

void add_calls(Page& page, const std::vector<Series>& series) {
  page.metric("holdfast_acquisitions_total", "counter", "Calls for a lock that ended, by outcome.");
  for (const Series& one : series) {
    page.outcome(one.labels, "granted", one.acquisitions.successes);
    if (one.adopted != 0) page.outcome(one.labels, "adopted", one.adopted);
    page.failures(one.labels, one.acquisitions);
  }
  page.metric("holdfast_wait_seconds", "histogram",
              "Time from the call for a lock to its end, with a grant or without.");
  for (const Series& one : series) {
    page.histogram(one.labels + ",granted=\"true\"", one.granted_waits);
    if (one.refused_waits.any()) {
      page.histogram(one.labels + ",granted=\"false\"", one.refused_waits);
    }
  }
  page.metric("holdfast_calls_waiting", "gauge", "Calls for a lock that have not ended.");
  for (const Series& one : series) page.sample(one.labels, one.waiting);
  page.metric("holdfast_retries_total", "counter",
              "Attempts of a call for a lock that failed and are repeated, by outcome.");
  for (const Series& one : series) page.failures(one.labels, one.retries);
}

void add_holds(Page& page, const std::vector<Series>& series) {
  page.metric("holdfast_locks_held", "gauge", "Leases that are held and valid.");
  for (const Series& one : series) page.sample(one.labels, one.held);
  page.metric("holdfast_hold_seconds", "histogram",
              "Time from a grant to the release or loss of the lease.");
  for (const Series& one : series) page.histogram(one.labels, one.holds);
  page.metric(
      "holdfast_handover_seconds", "histogram",
      "Time from the end of an exclusive hold to the grant of a call that was waiting then.");
  for (const Series& one : series) {
    if (one.handovers.any()) page.histogram(one.labels, one.handovers);
  }
  page.metric("holdfast_renewals_total", "counter", "Renewals of leases, by outcome.");
  for (const Series& one : series) {
    page.outcome(one.labels, "renewed", one.renewals.successes);
    page.failures(one.labels, one.renewals);
  }
  page.metric("holdfast_losses_total", "counter", "Leases that were lost before their release.");
  for (const Series& one : series) page.sample(one.labels, one.losses);
  page.metric("holdfast_releases_total", "counter", "Releases of leases, by outcome.");
  for (const Series& one : series) {
    page.outcome(one.labels, "released", one.releases.successes);
    page.failures(one.labels, one.releases);
  }
}

void add_engines(Page& page, const std::vector<EngineSeries>& engines) {
  page.metric("holdfast_connection_events_total", "counter",
              "Connections to the engine's servers that were made or ended, by event.");
  for (const EngineSeries& one : engines) {
    for (std::size_t i = 0; i < kServerEvents; ++i) {
      const char* event = server_event_name(static_cast<ServerEventKind>(i));
      page.labelled(one.labels, "event", event, one.connections[i]);
    }
  }
  page.metric("holdfast_server_errors_total", "counter",
              "Requests that a server refused with an error of its own, by code.");
  for (const EngineSeries& one : engines) page.failures(one.labels, one.server_errors, "code");
  page.metric("holdfast_warnings_total", "counter",
              "Warnings about an engine that may not keep its promises; the texts are in the log.");
  for (const EngineSeries& one : engines) page.sample(one.labels, one.warnings);
}

}  // namespace

std::string label_value(std::string_view bytes) {
  std::string escaped;
  for (const char byte : printable(bytes, kMaxLabelBytes)) {
    if (byte == '\\' || byte == '"') escaped += '\\';
    escaped += byte;
  }
  return escaped;
}

std::string engine_label(std::string_view engine) {
  return "engine=\"" + label_value(engine) + '"';
}

std::string series_labels(std::string_view engine, std::string_view name, Mode mode) {
  return engine_label(engine) + ",name=\"" + label_value(name) + "\",mode=\"" + mode_name(mode) +
         '"';
}

std::string exposition(const Snapshot& snapshot) {
  Page page;
  add_calls(page, snapshot.series);
  add_holds(page, snapshot.series);
  add_engines(page, snapshot.engines);
  return page.take();
}

}  // namespace holdfast::internal
