// Certificates: what TLS tests need, made with the openssl command in a directory.
//
//   ca         signed server (127.0.0.1 and localhost) and client
//   other_ca   signed itself only: whoever trusts nothing else refuses the server
//
// Thread safety: all members are const.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::test {

class Certificates {
 public:
  // Makes them; takes about 40 ms. Throws std::runtime_error if openssl is missing or fails.
  explicit Certificates(std::filesystem::path directory);

  // Those of this process, made at the first call.
  static const Certificates& shared();

  // Paths of PEM files.
  std::string ca() const { return file("ca.crt"); }
  std::string server_certificate() const { return file("server.crt"); }
  std::string server_key() const { return file("server.key"); }
  std::string client_certificate() const { return file("client.crt"); }
  std::string client_key() const { return file("client.key"); }
  std::string other_ca() const { return file("other_ca.crt"); }

 private:
  std::string file(const char* name) const { return (directory_ / name).string(); }
  void make(const std::string& name, const std::string& extension, bool is_ca) const;

  std::filesystem::path directory_;
};

}  // namespace holdfast::test
