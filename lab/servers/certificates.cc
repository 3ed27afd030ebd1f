#include "certificates.h"

#include <stdexcept>
#include <vector>

#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

Certificates::Certificates(std::filesystem::path directory) : directory_(std::move(directory)) {
  make("ca", "", true);
  make("other_ca", "", true);
  make("server", "subjectAltName=IP:127.0.0.1,DNS:localhost", false);
  make("client", "extendedKeyUsage=clientAuth", false);
}

const Certificates& Certificates::shared() {
  static const TempDir directory;
  static const Certificates certificates(directory.path());
  return certificates;
}

void Certificates::make(const std::string& name, const std::string& extension, bool is_ca) const {
  const std::string path = file(name.c_str());
  std::vector<std::string> command{
      find_program("openssl", "openssl"), "req", "-x509", "-days", "2", "-nodes",
      // Elliptic curves: an RSA key takes a hundred times as long to make.
      "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj",
      "/O=Holdfast tests/CN=" + name, "-keyout", path + ".key", "-out", path + ".crt"};
  const auto add = [&](std::initializer_list<std::string> words) {
    command.insert(command.end(), words);
  };
  if (!is_ca) {
    add({"-CA", file("ca.crt"), "-CAkey", file("ca.key")});
    add({"-addext", "basicConstraints=critical,CA:FALSE", "-addext", extension});
  }
  ServerProcess openssl(command, path + ".log");
  if (openssl.wait() != 0) throw std::runtime_error("openssl req: " + openssl.log());
}

}  // namespace holdfast::test
