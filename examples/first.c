// The same as first.cc, in C.
#include <inttypes.h>
#include <stdio.h>

#include "holdfast/c.h"

static int say(const char* what, hf_error* error) {
  fprintf(stderr, "%s: %s\n", what, hf_error_message(error));
  hf_error_free(error);
  return 1;
}

int main(void) {
  hf_client* client;
  hf_lock* lock;
  hf_lease* lease;
  hf_error* error;

  // NULL, or a URL: "sqlite:///path/to/locks.db"
  if (hf_client_open(NULL, NULL, &client, &error) != HF_OK) return say("open", error);
  if (hf_lock_new(client, "nightly-report", 14, NULL, &lock, &error) != HF_OK) {
    return say("lock", error);
  }
  // Up to ten seconds. HF_BUSY is an outcome, not an accident: the message says who holds it.
  if (hf_lock_acquire(lock, 10000, NULL, &lease, &error) != HF_OK) return say("acquire", error);

  // The lock is ours, and renewed in the background, until the lease is freed or lost.
  printf("nightly-report is mine, token %" PRIu64 "\n", hf_lease_token(lease));
  if (!hf_lease_held(lease)) return 1;  // Ask before each step; hf_lease_on_lost() tells at once.

  if (hf_lease_release(lease, &error) != HF_OK) return say("release", error);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
  return 0;
}
