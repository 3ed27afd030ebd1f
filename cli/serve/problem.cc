#include "serve/problem.h"

#include <nlohmann/json.hpp>

namespace holdfast::cli::serve {
namespace {

// When to ask again. Engines are asked anew by every request, so soon; with some spread, or all come back at once.
constexpr const char* kRetryAfterS = "2";

class FailureError final : public ProblemError {
 public:
  explicit FailureError(const Failure& failure)
      : ProblemError(status_of(failure.code()), code_name(failure.code()), failure.message()) {}
};

Response problem_response(const Json& body, int status) {
  Response response = json_response(body, status);
  response.content_type = "application/problem+json";
  if (status == 503) response.headers.emplace_back("Retry-After", kRetryAfterS);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

void refuse(const Failure& failure) { throw FailureError(failure); }

int status_of(Code code) {
  switch (code) {
    case Code::busy: return 409;
    case Code::unknown: return 504;
    case Code::cancelled: return 503;
    case Code::not_held: return 410;
    case Code::invalid_argument: return 400;
    case Code::unsupported: return 422;
    case Code::misconfigured: return 502;
    case Code::unreachable: return 503;
    case Code::stale_token: return 412;
    case Code::exhausted: return 503;
    case Code::forked:
    case Code::closed:
    case Code::would_deadlock: break;
  }
  return 500;
}

const char* reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

Json to_json(const Problem& problem) {
  return {{"type", "about:blank"},
          {"title", reason_of(problem.status)},
          {"status", problem.status},
          {"code", problem.code},
          {"detail", for_terminal(problem.detail)}};
}

Json to_json_problem(const Failure& failure) {
  Json object =
      to_json(Problem{status_of(failure.code()), code_name(failure.code()), failure.message()});
  if (const Busy* busy = failure.busy()) {
    object["holder"] = for_terminal(busy->holder);
    object["holder_token"] = busy->token;
    object["rank"] = busy->rank;
    if (busy->expires_in) {
      object["expires_in_ms"] =
          std::chrono::duration_cast<std::chrono::milliseconds>(*busy->expires_in).count();
    }
  }
  return object;
}

Response response_to(const Problem& problem) {
  return problem_response(to_json(problem), problem.status);
}

Response response_to(const Failure& failure) {
  return problem_response(to_json_problem(failure), status_of(failure.code()));
}

}  // namespace holdfast::cli::serve
