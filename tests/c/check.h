// Shared by the cases. A case is a function; a check that fails ends the program with the line.
#pragma once

#include <holdfast/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

// The call succeeds; its message is shown if it does not.
#define OK(call)                                                                               \
  do {                                                                                         \
    hf_error* failed = NULL;                                                                   \
    if ((call) != HF_OK) {                                                                     \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hf_error_message(failed)); \
      exit(1);                                                                                 \
    }                                                                                          \
    CHECK(failed == NULL);                                                                     \
  } while (0)

extern const char* database_url;    // of this case alone
extern const char* work_directory;  // the same

// A client on it.
hf_client* open_client(void);
// A lock of that name.
hf_lock* new_lock(hf_client* client, const char* name, hf_mode mode, uint32_t permits,
                  int64_t ttl_ms);
hf_lease* acquire(hf_lock* lock);
// The number of those who wait for the lock.
size_t waiters_of(hf_client* client, const char* name);
void sleep_ms(int ms);

void versions_and_layouts(void);
void arguments_are_checked(void);
void options_grow(void);
void a_lock_has_one_holder(void);
void modes_share(void);
void names_hold_any_bytes(void);
void a_wait_can_be_cancelled(void);
void an_asynchronous_wait_ends_once(void);
void a_lost_lease_says_so(void);
void a_callback_may_free_its_lease(void);
void a_lease_is_renewed_and_released(void);
void a_released_lease_tells_of_no_loss(void);
void a_detached_lock_is_adopted(void);
void leases_are_used_by_many_threads(void);
void locks_are_listed_and_evicted(void);
void a_forked_child_holds_nothing(void);
void a_fence_refuses_older_tokens(void);
