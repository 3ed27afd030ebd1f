// A job that is done once per day, by whichever machine comes first: start this on as many as you like.
#include <chrono>
#include <iostream>

#include "holdfast/holdfast.h"

int main() {
  using namespace std::chrono_literals;

  auto client = holdfast::Client::open();  // With a URL of a server: on many machines.
  if (!client) {
    std::cerr << client.message() << '\n';
    return 1;
  }

  // From 03:00 to 03:00 UTC; or daily("Europe/Berlin", 3h), with days of 23 and 25 hours.
  auto once = client->once("nightly", holdfast::daily("UTC", 3h));
  const holdfast::OnceResult result = once.run([](const holdfast::Lease& lease) {
    std::cout << "at work, with token " << lease.token().str() << '\n';
    return 0;  // Anything else is a failure: the job stays due.
  });

  for (const std::string& note : result.notes) std::cerr << note << '\n';
  if (result.outcome == holdfast::OnceResult::Outcome::done_already) {
    std::cout << "done already, by " << result.job->label << '\n';
  }
  // Lost, or not recorded, or not run: the message says which, and whether it may be run again.
  if (result.failure) std::cerr << result.failure->message() << '\n';
  return result.failure ? 1 : result.status;
}
