// bench_plot: what becomes of the figures of a run.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "markdown.h"
#include "panel.h"

namespace holdfast::bench {

namespace {

constexpr const char* kUsage =
    R"(usage: bench_plot gather OUT.json COMMAND GROUP.json…   one file of several reports
       bench_plot svg RUN.json FOLDER                   pictures: GROUP-bars.svg, GROUP-clients.svg,
                                                        GROUP-growth.svg
       bench_plot markdown RUN.json                     tables, to stdout
)";

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text << std::flush)) throw std::runtime_error("cannot write " + path.string());
}

void draw(const Json& run, const std::filesystem::path& folder) {
  create_directories(folder);
  const std::string when = run.at("date").get<std::string>();
  for (const auto& [name, group] : run.at("groups").items()) {
    const auto sheet = [&](const std::string& kind, const std::string& title,
                           const std::vector<Panel>& panels, std::size_t columns) {
      if (panels.empty()) return;
      write(folder / (name + "-" + kind + ".svg"),
            draw_sheet(title + ", " + when, panels, columns));
    };
    const std::vector<Verdict> bars = verdicts(group);
    if (!bars.empty()) sheet("bars", name, {draw_verdicts(name, bars)}, 1);
    std::vector<Panel> clients, curves;
    for (const Json& each : group.at("comparisons")) clients.push_back(draw_clients(each));
    for (const Json& each : group.at("curves")) curves.push_back(draw_curve(each));
    std::erase_if(curves, [](const Panel& panel) { return panel.height == 0; });
    sheet("clients", name + ": Holdfast beside others", clients, 2);
    sheet("growth", name + ": growth", curves, 2);
  }
}

int run(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words[0] == "gather") {
    write(words[1], gather(words[2], {words.begin() + 3, words.end()}).dump(1) + "\n");
  } else if (words.size() == 3 && words[0] == "svg") {
    draw(read_json(words[1]), words[2]);
  } else if (words.size() == 2 && words[0] == "markdown") {
    std::fputs(to_markdown(read_json(words[1])).c_str(), stdout);
  } else {
    std::fputs(kUsage, stderr);
    return 64;
  }
  return 0;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  try {
    return holdfast::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_plot: %s\n", error.what());
    return 1;
  }
}
