#include "product.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

struct Known {
  const char* name;
  ServerKind kind;
  const char* server;  // the program that answers --version
  const char* package;
};

// Of each kind the first is what this machine has if nothing is chosen.
constexpr std::array kKnown{
    Known{"redis", ServerKind::redis, "redis-server", "redis-server"},
    Known{"valkey", ServerKind::redis, "valkey-server", "valkey-server"},
    Known{"mariadb", ServerKind::mysql, "mariadbd", "mariadb-server"},
    Known{"mysql", ServerKind::mysql, "mysqld", "mysql-server-core"},
    Known{"postgresql", ServerKind::postgresql, "postgres", "postgresql"},
    Known{"memcached", ServerKind::memcached, "memcached", "memcached"},
    Known{"etcd", ServerKind::etcd, "etcd", "etcd-server"},
    Known{"zookeeper", ServerKind::zookeeper, nullptr, "zookeeper"},
};

const Known& known(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kKnown, [&](const Known& k) { return k.name == name; });
  if (found != kKnown.end()) return *found;
  std::string names;
  for (const Known& k : kKnown) names += std::string(" ") + k.name;
  throw std::runtime_error("HOLDFAST_SERVER: no product '" + name + "'; there are:" + names);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

fs::path unpacked_folder() {
  const std::string chosen = variable("HOLDFAST_SERVERS");
  return chosen.empty() ? HOLDFAST_UNPACKED_SERVERS : chosen;
}

std::string first_version_in(const std::string& text) {
  static const std::regex number(R"([0-9]+(\.[0-9]+)+)");
  std::smatch found;
  return std::regex_search(text, found, number) ? found.str() : "";
}

std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');)
    numbers.push_back(std::atoi(part.c_str()));
  return numbers;
}

// "9.7" fits 9.7.4, not 9.70.
bool begins_with(const std::string& version, const std::string& begin) {
  return begin.empty() || (version + ".").starts_with(begin + ".");
}

// A link beside it has the version in its name.
std::string version_of_jar(const fs::path& jar) {
  const std::regex pattern(jar.stem().string() + R"(-([0-9.]+)\.jar)");
  for (const auto& entry : fs::directory_iterator(jar.parent_path())) {
    const std::string name = entry.path().filename();
    std::smatch found;
    if (std::regex_match(name, found, pattern)) return found[1];
  }
  return "unknown";
}

std::string output_of(const std::string& program) {
  const TempDir folder;
  ServerProcess process({program, "--version"}, folder.path() / "output");
  process.wait();
  return process.log();
}

// PRODUCT or PRODUCT-VERSION.
struct Wish {
  std::string product;
  std::string version;
};

std::vector<Wish> wishes() {
  std::vector<Wish> all;
  std::istringstream words(variable("HOLDFAST_SERVER"));
  for (std::string word; std::getline(words, word, ',');) {
    if (word.empty()) continue;
    const std::size_t dash = word.find('-');
    all.push_back({word.substr(0, dash), dash == std::string::npos ? "" : word.substr(dash + 1)});
  }
  return all;
}

}  // namespace

Product Product::of(ServerKind kind) {
  std::optional<Wish> mine;
  for (const Wish& wish : wishes()) {
    if (known(wish.product).kind != kind) continue;
    if (mine) {
      throw std::runtime_error("HOLDFAST_SERVER names two servers of one kind: " + mine->product +
                               " and " + wish.product);
    }
    mine = wish;
  }
  if (mine) return newest(mine->product, mine->version);
  const auto* const own =
      std::ranges::find_if(kKnown, [&](const Known& k) { return k.kind == kind; });
  return {own->name, "/"};
}

std::vector<Product> Product::all(const std::string& name) {
  std::vector<Product> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(unpacked_folder(), ignored)) {
    const std::string folder = entry.path().filename();
    if (!folder.starts_with(name + "-")) continue;
    found.push_back({name, entry.path(), folder.substr(name.size() + 1)});
  }
  try {
    Product own{name, "/"};
    own.version_ = own.version();
    found.push_back(own);
  } catch (const std::runtime_error&) {
    // The machine has none.
  }
  std::ranges::sort(found, [](const Product& a, const Product& b) {
    return numbers_of(a.version_) < numbers_of(b.version_);
  });
  return found;
}

Product Product::newest(const std::string& name, const std::string& version) {
  const std::vector<Product> here = all(name);
  for (auto product = here.rbegin(); product != here.rend(); ++product) {
    if (begins_with(product->version_, version)) return *product;
  }
  std::string versions;
  for (const Product& product : here) versions += (versions.empty() ? "" : ", ") + product.version_;
  throw std::runtime_error("HOLDFAST_SERVER: " + name + (version.empty() ? "" : " " + version) +
                           " is not in " + unpacked_folder().string() + " (of " + name +
                           " there is: " + (versions.empty() ? "nothing" : versions) +
                           "); scripts/servers " + name + " unpacks it");
}

std::string Product::version() const {
  if (!version_.empty()) return version_;
  const Known& self = known(name_);
  if (self.server == nullptr) return version_of_jar(jar(name_));
  const std::string said = output_of(program(self.server));
  // Debian's MariaDB answers to MySQL's name.
  if (is("mysql") && said.find("MariaDB") != std::string::npos) {
    throw std::runtime_error("mysqld is MariaDB's here");
  }
  return first_version_in(said);
}

std::string Product::program(const std::string& name) const {
  std::vector<fs::path> folders;
  std::error_code ignored;
  if (is("postgresql")) {
    // Debian has them beside each other, by version, and not in PATH.
    for (const auto& entry : fs::directory_iterator(root_ / "usr/lib/postgresql", ignored)) {
      folders.push_back(entry.path() / "bin");
    }
    std::ranges::sort(folders, std::greater<>());
  }
  if (root_ != "/") folders.insert(folders.end(), {root_ / "usr/bin", root_ / "usr/sbin"});
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, ignored)) return folder / name;
  }
  if (root_ == "/") return find_program(name, known(name_).package);
  throw std::runtime_error(name_ + " " + version_ + ": there is no " + name + " in " +
                           root_.string());
}

fs::path Product::jar(const std::string& name) const {
  const fs::path path = root_ / "usr/share/java" / (name + ".jar");
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  throw std::runtime_error(path.string() + " not found; apt-get install " + known(name_).package);
}

void Product::report() const {
  static std::mutex mutex;
  static std::set<std::string> reported;
  const std::string file = variable("HOLDFAST_SERVERS_MET");
  if (file.empty()) return;
  const std::lock_guard lock(mutex);
  if (!reported.insert(root_.string() + " " + name_).second) return;
  std::ofstream(file, std::ios::app) << name_ + " " + version() + "\n";
}

}  // namespace holdfast::test
