// The C interface, used by a C program. Usage: c_tests CASE DIRECTORY (that does not exist yet)
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>
#include <time.h>

#include "check.h"

const char* database_url;
const char* work_directory;

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"versions_and_layouts", versions_and_layouts},
    {"arguments_are_checked", arguments_are_checked},
    {"options_grow", options_grow},
    {"a_lock_has_one_holder", a_lock_has_one_holder},
    {"modes_share", modes_share},
    {"names_hold_any_bytes", names_hold_any_bytes},
    {"a_wait_can_be_cancelled", a_wait_can_be_cancelled},
    {"an_asynchronous_wait_ends_once", an_asynchronous_wait_ends_once},
    {"a_lost_lease_says_so", a_lost_lease_says_so},
    {"a_callback_may_free_its_lease", a_callback_may_free_its_lease},
    {"a_lease_is_renewed_and_released", a_lease_is_renewed_and_released},
    {"a_released_lease_tells_of_no_loss", a_released_lease_tells_of_no_loss},
    {"a_detached_lock_is_adopted", a_detached_lock_is_adopted},
    {"leases_are_used_by_many_threads", leases_are_used_by_many_threads},
    {"locks_are_listed_and_evicted", locks_are_listed_and_evicted},
    {"a_forked_child_holds_nothing", a_forked_child_holds_nothing},
    {"a_fence_refuses_older_tokens", a_fence_refuses_older_tokens},
};

hf_client* open_client(void) {
  hf_client* client = NULL;
  hf_error* failed = NULL;
  if (hf_client_open(database_url, NULL, &client, &failed) != HF_OK) {
    fprintf(stderr, "open: %s\n", hf_error_message(failed));
    exit(1);
  }
  return client;
}

hf_lock* new_lock(hf_client* client, const char* name, hf_mode mode, uint32_t permits,
                  int64_t ttl_ms) {
  hf_lock_options options;
  hf_lock* lock = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.mode = mode;
  options.permits = permits;
  options.ttl_ms = ttl_ms;
  OK(hf_lock_new(client, name, strlen(name), &options, &lock, &failed));
  return lock;
}

hf_lease* acquire(hf_lock* lock) {
  hf_lease* lease = NULL;
  OK(hf_lock_acquire(lock, 20000, NULL, &lease, &failed));
  CHECK(lease != NULL);
  return lease;
}

size_t waiters_of(hf_client* client, const char* name) {
  hf_locks* locks = NULL;
  hf_lock_info info;
  OK(hf_client_inspect(client, name, strlen(name), &locks, &failed));
  info.size = sizeof info;
  CHECK(hf_locks_get(locks, 0, &info) == 1);
  hf_locks_free(locks);
  return info.waiters;
}

void sleep_ms(int ms) {
  struct timespec span;
  span.tv_sec = ms / 1000;
  span.tv_nsec = ms % 1000 * 1000000L;
  nanosleep(&span, NULL);
}

int main(int argc, char** argv) {
  char url[4096];
  size_t i;
  if (argc != 3 || mkdir(argv[2], 0700) != 0) {
    fprintf(stderr, "usage: c_tests CASE DIRECTORY (to be made)\n");
    return 2;
  }
  work_directory = argv[2];
  snprintf(url, sizeof url, "sqlite://%s/locks.db", argv[2]);
  database_url = url;
  for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run();
      return 0;
    }
  }
  fprintf(stderr, "no case is called %s\n", argv[1]);
  return 2;
}
