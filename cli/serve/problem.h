// Failures as RFC 9457 problem details: the codes are those of the library, and a few of HTTP's own.
#pragma once

#include <exception>
#include <string>

#include "serve/http.h"

namespace holdfast::cli::serve {

struct Problem {
  int status = 400;
  std::string code;    // "busy", "not_found": stable
  std::string detail;  // for people: what is wrong and what to do; one printable line
};

// Thrown by handlers; the connection answers with it.
class ProblemError : public std::exception {
 public:
  explicit ProblemError(Problem problem) : problem_(std::move(problem)) {}
  ProblemError(int status, std::string code, std::string detail)
      : problem_{status, std::move(code), std::move(detail)} {}
  const Problem& problem() const { return problem_; }
  const char* what() const noexcept override { return problem_.detail.c_str(); }

 private:
  Problem problem_;
};

[[noreturn]] void refuse(const Failure& failure);

int status_of(Code code);
const char* reason_of(int status);

Json to_json(const Problem& problem);
Json to_json_problem(const Failure& failure);

Response response_to(const Problem& problem);
Response response_to(const Failure& failure);

}  // namespace holdfast::cli::serve
