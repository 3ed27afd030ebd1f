#include "run_file.h"

#include <sys/utsname.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string system_name() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "PRETTY_NAME=\"";
    if (line.starts_with(kKey)) return line.substr(kKey.size(), line.size() - kKey.size() - 1);
  }
  return "unknown";
}

double memory_gb() {
  std::ifstream file("/proc/meminfo");
  std::string label;
  double kb = 0;
  file >> label >> kb;
  return static_cast<double>(static_cast<int>(kb / 1e5)) / 10;
}

// The first line that a program prints about itself; empty if it is not there.
std::string first_line_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command, "r"), &pclose);
  std::array<char, 200> text{};
  if (!output || !std::fgets(text.data(), text.size(), output.get())) return "";
  std::string line(text.data());
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  return line;
}

Json versions() {
  struct Program {
    const char* name;
    const char* command;
  };
  constexpr Program kPrograms[] = {
      {"redis-server", "redis-server --version 2>/dev/null"},
      {"memcached", "memcached --version 2>/dev/null"},
      {"etcd", "etcd --version 2>/dev/null"},
      {"zookeeper", "dpkg-query -W -f '${Version}' zookeeper 2>/dev/null"},
      {"mariadb", "mariadbd --version 2>/dev/null"},
      {"postgresql", "dpkg-query -W -f '${Version}' postgresql 2>/dev/null"},
      {"sqlite", "dpkg-query -W -f '${Version}' libsqlite3-0 2>/dev/null"},
      {"java", "java --version 2>/dev/null"},
      {"node", "node --version 2>/dev/null"},
      {"python", "python3 --version 2>/dev/null"},
      {"go", "go version 2>/dev/null"},
  };
  Json all{{"compiler", "GCC " __VERSION__}};
  for (const Program& program : kPrograms) {
    if (std::string line = first_line_of(program.command); !line.empty()) all[program.name] = line;
  }
  // Those that were started may be others than the installed ones: bench/run --server.
  if (const char* const met = std::getenv("HOLDFAST_SERVERS_MET")) {
    std::ifstream lines(met);
    for (std::string name, version; lines >> name >> version;) all[name] = version;
  }
  return all;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 40> text{};
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

Verdict verdict_of(const std::string& what, const Json& target, double value, std::string unit,
                   std::string detail) {
  const bool at_least = target.contains("at_least");
  return {.what = what,
          .value = value,
          .at_least = at_least,
          .limit = target.at(at_least ? "at_least" : "at_most").get<double>(),
          .met = target.value("met", false),
          .unit = std::move(unit),
          .detail = std::move(detail)};
}

std::string medians_of(const Json& clients) {
  std::string text;
  for (const Json& client : clients) {
    if (!client.contains("median")) continue;
    text += (text.empty() ? "" : ", ") + client.at("client").get<std::string>() + " " +
            short_figure(client.at("median").get<double>());
  }
  return text;
}

}  // namespace

Json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return Json::parse(file);
}

Json gather(const std::string& command, const std::vector<std::string>& files) {
  utsname kernel{};
  uname(&kernel);
  Json all{{"date", today()},
           {"command", command},
           {"machine",
            {{"processor", processor()},
             {"cpus", std::thread::hardware_concurrency()},
             {"memory_gb", memory_gb()},
             {"kernel", kernel.release},
             {"system", system_name()}}},
           {"versions", versions()},
           {"groups", Json::object()}};
  for (const std::string& file : files) {
    const std::filesystem::path path(file);
    if (exists(path)) all["groups"][path.stem().string()] = read_json(file);
  }
  return all;
}

std::vector<Verdict> verdicts(const Json& group) {
  std::vector<Verdict> all;
  for (const Json& row : group.at("rows")) {
    if (!row.contains("target") || !row.contains("median")) continue;
    all.push_back(verdict_of(row.at("what"), row.at("target"), row.at("median").get<double>(),
                             row.value("unit", ""), row.value("detail", "")));
  }
  for (const Json& comparison : group.at("comparisons")) {
    for (const Json& target : comparison.at("targets")) {
      if (!target.contains("median")) continue;
      const auto of = target.at("of").get<std::string>();
      all.push_back(
          verdict_of(comparison.at("what").get<std::string>() + (of.empty() ? "" : "; of " + of),
                     target, target.at("median").get<double>(),
                     of.empty() ? " " + comparison.at("unit").get<std::string>() : "",
                     medians_of(comparison.at("clients"))));
    }
  }
  for (const Json& curve : group.at("curves")) {
    for (const Json& series : curve.at("series")) {
      if (!series.contains("target") || !series.at("growth").contains("median")) continue;
      std::string points;
      for (const Json& point : series.at("points")) {
        points += (points.empty() ? "" : ", ") + short_figure(point.at("x").get<double>()) + ": " +
                  short_figure(point.at("median").get<double>());
      }
      all.push_back(
          verdict_of("growth with " + curve.at("x").get<std::string>() + ", last of first",
                     series.at("target"), series.at("growth").at("median").get<double>(), "",
                     points + " " + curve.at("unit").get<std::string>()));
    }
  }
  return all;
}

std::string short_figure(double value) {
  char text[32];
  if (value >= 1e6) {
    std::snprintf(text, sizeof text, "%.3g M", value / 1e6);
  } else if (value >= 1e4) {
    std::snprintf(text, sizeof text, "%.3g k", value / 1e3);
  } else if (value >= 100) {
    std::snprintf(text, sizeof text, "%.0f", value);
  } else if (value == std::floor(value)) {
    std::snprintf(text, sizeof text, "%.0f", value);
  } else {
    std::snprintf(text, sizeof text, value >= 10 ? "%.1f" : "%.2f", value);
  }
  return text;
}

}  // namespace holdfast::bench
