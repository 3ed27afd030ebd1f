// The embedded engine beside bare SQLite, which is polled, and flock(2).
#include "data_folder.h"
#include "embedded_workers.h"
#include "kinds.h"

namespace holdfast::bench {

namespace {

class Embedded final : public System {
 public:
  std::string title() const override { return "The embedded engine"; }
  std::string url() const override {
    return "sqlite://" + folder_.path() + "/locks.db" + (on_disk() ? "?sync=full" : "");
  }
  std::vector<Division> divisions() const override {
    constexpr const char* kBare = "bare SQLite";
    std::vector<Entrant> entrants = all_entrants("embedded", kBare);
    entrants.push_back(own_entrant("flock(2)", Role::peer, "embedded", "flock"));
    // There is no server, so any CPU is its own.
    return {
        {.entrants = std::move(entrants),
         .standard = {
             .two_cpus = false, .same_cpu = {at_least(0.7, kBare)}, .hold_gap = {at_most(100)}}}};
  }
  std::optional<double> renewal_percent_at_most() const override { return 10; }

 private:
  DataFolder folder_;
};

}  // namespace

SystemKind embedded_kind() {
  return {.name = "embedded",
          .start = [](int) { return std::make_unique<Embedded>(); },
          .workers = {{"raw", &be_bare_worker}, {"flock", &be_flock_worker}},
          .pinned = false};
}

}  // namespace holdfast::bench
