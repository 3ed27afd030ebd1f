// Product: the server software of one kind, either the machine's own (Debian packages) or one that
// scripts/servers unpacked beside it. All servers here ask it for their programs.
//
// HOLDFAST_SERVER chooses, as a list of PRODUCT-VERSION; a beginning of the version will do, and the
// newest that matches is taken:
//   HOLDFAST_SERVER=mysql-9.7                MySQL 9.7.x; of all other kinds the machine's own
//   HOLDFAST_SERVER=valkey-9,etcd-3.5.30     one of each kind at most
//   HOLDFAST_SERVER=mysql                    the newest MySQL that is here
// HOLDFAST_SERVERS names the folder of the unpacked ones, instead of build/servers.
//
// Every server that is started is reported to the file that HOLDFAST_SERVERS_MET names, if it does:
// a line "PRODUCT VERSION" each.
//
// Thread safety: immutable.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::test {

// Products of one kind speak one protocol.
enum class ServerKind {
  redis,  // redis, valkey
  mysql,  // mariadb, mysql
  postgresql,
  memcached,
  etcd,
  zookeeper,
};

class Product {
 public:
  // The chosen one, or the machine's own. Throws std::runtime_error if HOLDFAST_SERVER names what is
  // not here; the message says what is.
  static Product of(ServerKind kind);

  const std::string& name() const { return name_; }  // "mysql"
  bool is(const std::string& name) const { return name_ == name; }
  // "9.7.4". Of the machine's own it runs a program to learn it.
  std::string version() const;
  // Where its `usr` is: "/" for the machine's own.
  const std::filesystem::path& root() const { return root_; }

  // The path of one of its programs. Throws std::runtime_error that names the Debian package if the
  // product is not installed.
  std::string program(const std::string& name) const;
  // The same for a Java archive: "zookeeper" is zookeeper.jar.
  std::filesystem::path jar(const std::string& name) const;

  // Appends it to the file of HOLDFAST_SERVERS_MET, once per process.
  void report() const;

 private:
  Product(std::string name, std::filesystem::path root, std::string version = {})
      : name_(std::move(name)), root_(std::move(root)), version_(std::move(version)) {}
  // All that are here of this name, the machine's own among them.
  static std::vector<Product> all(const std::string& name);
  // The newest whose version begins with `version`.
  static Product newest(const std::string& name, const std::string& version);

  std::string name_;
  std::filesystem::path root_;
  std::string version_;  // empty: not asked yet
};

}  // namespace holdfast::test
