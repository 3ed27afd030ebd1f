#include "disturbance.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "process.h"

namespace holdfast::bench {

namespace {

double used_by(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Disturbance::Disturbance(std::vector<pid_t> servers)
    : servers_(std::move(servers)), begin_(read()) {}

Disturbance::Reading Disturbance::read() const {
  // cpu  user nice system idle iowait irq softirq steal …, in ticks since the machine started
  std::ifstream file("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  file >> label >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  double servers_s = 0;
  for (const pid_t server : servers_) servers_s += cpu_seconds(server);
  const auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {.at = std::chrono::steady_clock::now(),
          .all_s = (user + nice + system) / tick,
          .stolen_s = steal / tick,
          .ours_s = used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN) + servers_s};
}

Disturbance::Shares Disturbance::so_far() const {
  const Reading now = read();
  const double took = Seconds(now.at - begin_.at).count();
  const double others = (now.all_s - begin_.all_s) - (now.ours_s - begin_.ours_s);
  return {.others = std::max(0.0, others / took),
          .stolen = (now.stolen_s - begin_.stolen_s) / took};
}

}  // namespace holdfast::bench
