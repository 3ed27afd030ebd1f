#include "handle_argument.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "duration.h"
#include "word_list.h"

namespace holdfast::cli {
namespace {

Json describe(const Hold& hold) {
  Json object;
  put_name(object, hold.claim.name);
  object["token"] = hold.token.value();
  return object;
}

void add_words(std::istream& text, std::vector<std::string>& words) {
  for (std::string word; text >> word;) words.push_back(word);
}

}  // namespace

void add_handles(CLI::App& command, std::vector<std::string>& words) {
  add_word_list(command, "HANDLE", words,
                "What `holdfast acquire` printed; - reads it from the input");
}

Result<std::vector<Handle>> read_handles(const std::vector<std::string>& words) {
  std::vector<std::string> single;
  for (const std::string& word : words) {
    std::istringstream text(word);
    if (word == "-") {
      add_words(std::cin, single);
    } else {
      add_words(text, single);
    }
  }
  if (single.empty()) return Failure(Code::invalid_argument, "no handle was given");
  std::vector<Handle> handles;
  for (const std::string& word : single) {
    Result<Handle> handle = Handle::parse(word);
    if (!handle) return handle.failure();
    handles.push_back(std::move(*handle));
  }
  return handles;
}

int for_each_handle(const Session& session, const std::vector<std::string>& words, const char* done,
                    const std::function<Result<void>(Client&, const Handle&)>& act) {
  const Result<std::vector<Handle>> handles = read_handles(words);
  if (!handles) return session.fail(handles.failure());
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  int status = kOk;
  Json locks = Json::array();
  for (const Handle& handle : *handles) {
    const Result<void> outcome = act(*client, handle);
    Json object = describe(handle.hold());
    object[done] = static_cast<bool>(outcome);
    if (!outcome) {
      if (status == kOk) status = exit_status_of(outcome.code());
      // Of one lock the failure is all there is to say.
      if (handles->size() == 1) return session.fail(outcome.failure());
      if (!session.json) session.warn(outcome.message());
      object["error"] = describe_failure(outcome.failure());
    } else if (std::string_view(done) == "renewed") {
      object["ttl_ms"] = to_ms(handle.hold().claim.ttl);
    }
    locks.push_back(std::move(object));
  }
  if (session.json) session.print(locks.size() == 1 ? locks[0] : Json{{"locks", locks}});
  return status;
}

}  // namespace holdfast::cli
