// Versions, structures, arguments, failures.
#include "check.h"

// On 64 bits; programs that were compiled before rely on it. Fields may be added at the end, and nothing else.
#define LAYOUT(type, field, offset) \
  typedef char type##_##field##_moved[offsetof(type, field) == (offset) ? 1 : -1]
#ifdef __LP64__
LAYOUT(hf_busy, lock, 8);
LAYOUT(hf_busy, expires_in_ms, 40);
LAYOUT(hf_client_options, label, 8);
LAYOUT(hf_client_options, release_timeout_ms, 32);
LAYOUT(hf_guarantees, exclusion, 24);
LAYOUT(hf_guarantees, min_ttl_ms, 48);
LAYOUT(hf_lock_options, mode, 8);
LAYOUT(hf_lock_options, ttl_ms, 16);
LAYOUT(hf_lock_options, token, 44);
LAYOUT(hf_lock_info, last_token, 24);
LAYOUT(hf_lock_info, waiters, 48);
LAYOUT(hf_party, mode, 24);
LAYOUT(hf_party, expires_in_ms, 48);
#endif

void versions_and_layouts(void) {
  CHECK(hf_c_version() == HOLDFAST_C_VERSION);
  CHECK(strcmp(hf_version(), TEST_VERSION) == 0);
  CHECK(strcmp(hf_code_name(HF_OK), "ok") == 0);
  CHECK(strcmp(hf_code_name(HF_NOT_HELD), "not_held") == 0);
  CHECK(strcmp(hf_code_name(HF_EXHAUSTED), "exhausted") == 0);
  CHECK(strcmp(hf_code_name((hf_code)(HF_EXHAUSTED + 1)), "unknown_code") == 0);
}

void arguments_are_checked(void) {
  hf_client* client = (hf_client*)&database_url;
  hf_lock* lock = NULL;
  hf_lease* lease = NULL;
  hf_error* error = NULL;
  hf_lock_options options;

  CHECK(hf_client_open("nonsense://x", NULL, &client, &error) == HF_INVALID_ARGUMENT);
  CHECK(client == NULL);
  CHECK(hf_error_code(error) == HF_INVALID_ARGUMENT);
  CHECK(strstr(hf_error_message(error), "nonsense") != NULL);
  hf_error_free(error);
  CHECK(hf_client_open("nonsense://x", NULL, &client, NULL) == HF_INVALID_ARGUMENT);
  CHECK(hf_client_open(database_url, NULL, NULL, NULL) == HF_INVALID_ARGUMENT);
  CHECK(hf_client_ping(NULL, &error) == HF_INVALID_ARGUMENT);
  CHECK(strstr(hf_error_message(error), "the client is NULL") != NULL);
  hf_error_free(error);

  client = open_client();
  OK(hf_client_ping(client, &failed));
  CHECK(hf_lock_new(client, "", 0, NULL, &lock, NULL) == HF_INVALID_ARGUMENT);
  CHECK(hf_lock_new(client, NULL, 3, NULL, &lock, NULL) == HF_INVALID_ARGUMENT);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.mode = (hf_mode)77;
  CHECK(hf_lock_new(client, "x", 1, &options, &lock, &error) == HF_INVALID_ARGUMENT);
  CHECK(strstr(hf_error_message(error), "77") != NULL);
  hf_error_free(error);
  options.mode = HF_EXCLUSIVE;
  options.permits = 3;
  CHECK(hf_lock_new(client, "x", 1, &options, &lock, NULL) == HF_INVALID_ARGUMENT);
  options.permits = 0;
  options.ttl_ms = 1;
  CHECK(hf_lock_new(client, "x", 1, &options, &lock, NULL) == HF_INVALID_ARGUMENT);
  CHECK(lock == NULL);

  lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  CHECK(hf_lock_acquire(lock, -2, NULL, &lease, NULL) == HF_INVALID_ARGUMENT);
  CHECK(hf_lock_acquire(NULL, 0, NULL, &lease, NULL) == HF_INVALID_ARGUMENT);
  CHECK(lease == NULL);
  hf_lock_free(lock);
  hf_client_free(client);

  hf_client_free(NULL);
  hf_lock_free(NULL);
  hf_lease_free(NULL);
  hf_error_free(NULL);
  hf_locks_free(NULL);
  hf_cancel_free(NULL);
  hf_cancel_now(NULL);
  hf_fence_free(NULL);
  hf_pass_free(NULL);
  hf_text_free(NULL);
  CHECK(hf_error_code(NULL) == HF_OK && hf_error_message(NULL)[0] == '\0');
}

void options_grow(void) {
  // Of a program that was compiled with a header that has one more field.
  struct {
    hf_lock_options known;
    int64_t added;
  } later;
  struct {
    size_t size;
    hf_mode mode;
    uint32_t permits;
  } earlier;  // And with one that had fewer.
  hf_client* client = open_client();
  hf_lock* lock = NULL;
  hf_error* error = NULL;
  hf_guarantees guarantees;

  memset(&later, 0, sizeof later);
  later.known.size = sizeof later;
  OK(hf_lock_new(client, "x", 1, &later.known, &lock, &failed));
  hf_lock_free(lock);
  later.added = 1;
  CHECK(hf_lock_new(client, "x", 1, &later.known, &lock, &error) == HF_UNSUPPORTED);
  CHECK(strstr(hf_error_message(error), "newer") != NULL);
  hf_error_free(error);
  later.known.size = 0;
  CHECK(hf_lock_new(client, "x", 1, &later.known, &lock, &error) == HF_INVALID_ARGUMENT);
  CHECK(strstr(hf_error_message(error), "sizeof") != NULL);
  hf_error_free(error);

  earlier.size = sizeof earlier;
  earlier.mode = HF_PERMIT;
  earlier.permits = 2;
  OK(hf_lock_new(client, "y", 1, (const hf_lock_options*)(const void*)&earlier, &lock, &failed));
  hf_lock_free(lock);

  memset(&guarantees, 0x55, sizeof guarantees);
  guarantees.size = offsetof(hf_guarantees, shared_mode);
  OK(hf_client_guarantees(client, &guarantees, &failed));
  CHECK(strcmp(guarantees.engine, "sqlite") == 0);
  CHECK(guarantees.exclusion == HF_LINEARIZABLE && guarantees.token == HF_TOKEN_DURABLE_ONE_NODE);
  CHECK(guarantees.shared_mode == 0x55555555);  // beyond what it knows, nothing is written
  guarantees.size = sizeof guarantees;
  OK(hf_client_guarantees(client, &guarantees, &failed));
  CHECK(guarantees.shared_mode == 1 && guarantees.permit_mode == 1 && guarantees.min_ttl_ms > 0);
  hf_client_free(client);
}
