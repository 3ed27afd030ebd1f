// What can be done with a lease: loss, renewal, release, detaching, forking, fences.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int lost_pipe[2];

static void say_lost(void* data) { CHECK(write(lost_pipe[1], data, 1) == 1); }

static char await_lost(void) {
  char said = 0;
  CHECK(read(lost_pipe[0], &said, 1) == 1);
  return said;
}

static void free_it(void* data) {
  hf_lease_free(data);
  say_lost("f");
}

void a_callback_may_free_its_lease(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 500);
  hf_lease* lease = acquire(lock);
  CHECK(pipe(lost_pipe) == 0);
  OK(hf_lease_on_lost(lease, free_it, lease, &failed));
  OK(hf_client_evict(client, "x", 1, hf_lease_token(lease), &failed));
  CHECK(await_lost() == 'f');
  hf_lock_free(lock);
  hf_client_free(client);
}

static int64_t boot_now(void) {
  struct timespec now;
  clock_gettime(7, &now);  // CLOCK_BOOTTIME, which is not in POSIX
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void a_lost_lease_says_so(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 500);
  hf_lease* lease = acquire(lock);

  CHECK(pipe(lost_pipe) == 0);
  OK(hf_lease_on_lost(lease, say_lost, "1", &failed));
  OK(hf_lease_on_lost(lease, say_lost, "2", &failed));
  CHECK(hf_lease_on_lost(lease, NULL, NULL, NULL) == HF_INVALID_ARGUMENT);
  OK(hf_client_evict(client, "x", 1, hf_lease_token(lease), &failed));
  CHECK(await_lost() + await_lost() == '1' + '2');
  CHECK(hf_lease_held(lease) == 0);
  OK(hf_lease_on_lost(lease, say_lost, "3", &failed));  // at once, on this thread
  CHECK(await_lost() == '3');
  CHECK(hf_lease_renew(lease, NULL) == HF_NOT_HELD);
  CHECK(hf_lease_token(lease) > 0);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
}

void a_lease_is_renewed_and_released(void) {
  hf_client* client = open_client();
  hf_lock_options options;
  hf_lock* lock = NULL;
  hf_lease* lease;
  int64_t until;

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.ttl_ms = 60000;
  options.no_renewal = 1;
  OK(hf_lock_new(client, "x", 1, &options, &lock, &failed));
  lease = acquire(lock);
  until = hf_lease_valid_until_ns(lease);
  CHECK(until > boot_now() && until < boot_now() + INT64_C(60000000000));
  sleep_ms(5);
  OK(hf_lease_renew(lease, &failed));
  CHECK(hf_lease_valid_until_ns(lease) > until);
  OK(hf_lease_release(lease, &failed));
  CHECK(hf_lease_held(lease) == 0 && hf_lease_valid_until_ns(lease) == 0);
  CHECK(hf_lease_token(lease) > 0 && hf_lease_name(lease, NULL)[0] == 'x');
  CHECK(hf_lease_release(lease, NULL) == HF_CLOSED);
  CHECK(hf_lease_renew(lease, NULL) == HF_CLOSED);
  CHECK(hf_lease_on_lost(lease, say_lost, "", NULL) == HF_CLOSED);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
}

static int told;
static void count_told(void* data) {
  (void)data;
  __atomic_add_fetch(&told, 1, __ATOMIC_SEQ_CST);
}

void a_released_lease_tells_of_no_loss(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 100);
  hf_lease* lease = acquire(lock);
  OK(hf_lease_on_lost(lease, count_told, NULL, &failed));
  OK(hf_lease_release(lease, &failed));
  sleep_ms(300);  // Its ttl passes.
  CHECK(__atomic_load_n(&told, __ATOMIC_SEQ_CST) == 0);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
}

void a_detached_lock_is_adopted(void) {
  hf_client* client = open_client();
  hf_client* other = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  hf_lease* lease = acquire(lock);
  hf_lease* adopted = NULL;
  char* handle = NULL;

  OK(hf_lease_detach(lease, &handle, &failed));
  CHECK(hf_lease_held(lease) == 0 && strchr(handle, ' ') == NULL);
  hf_lease_free(lease);
  CHECK(hf_lock_try(lock, &lease, NULL) == HF_BUSY);
  CHECK(hf_client_adopt(other, "no handle", NULL, &adopted, NULL) == HF_INVALID_ARGUMENT);
  OK(hf_client_adopt(other, handle, NULL, &adopted, &failed));
  CHECK(hf_lease_held(adopted) == 1);
  hf_text_free(handle);
  OK(hf_lease_detach(adopted, &handle, &failed));
  hf_lease_free(adopted);
  OK(hf_client_release(client, handle, &failed));
  CHECK(hf_client_release(client, handle, NULL) == HF_NOT_HELD);
  hf_text_free(handle);
  OK(hf_lock_try(lock, &lease, &failed));
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
  hf_client_free(other);
}

static void* ask_a_lot(void* data) {
  hf_lease* lease = data;
  int i;
  for (i = 0; i < 2000; ++i) {
    CHECK(hf_lease_token(lease) > 0);
    if (!hf_lease_held(lease)) return NULL;
    hf_lease_valid_until_ns(lease);
    if (i % 100 == 0) hf_lease_renew(lease, NULL);
  }
  return NULL;
}

void leases_are_used_by_many_threads(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  hf_lease* lease = acquire(lock);
  pthread_t threads[4];
  size_t i;
  for (i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, ask_a_lot, lease) == 0);
  sleep_ms(20);
  OK(hf_lease_release(lease, &failed));
  for (i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
}

static void in_the_child(hf_client* client, hf_lock* lock, hf_lease* lease, hf_cancel* cancel) {
  hf_lease* none = NULL;
  hf_error* error = NULL;
  char* handle = NULL;
  hf_locks* locks = NULL;
  alarm(30);  // A child that hangs is a finding.
  CHECK(hf_lease_held(lease) == 0 && hf_lease_valid_until_ns(lease) == 0);
  CHECK(hf_lease_token(lease) > 0);
  CHECK(hf_lock_acquire(lock, 10, NULL, &none, &error) == HF_FORKED && none == NULL);
  CHECK(hf_error_message(error)[0] != '\0');
  hf_error_free(error);
  CHECK(hf_lock_try(lock, &none, NULL) == HF_FORKED);
  CHECK(hf_lease_renew(lease, NULL) == HF_FORKED);
  CHECK(hf_lease_release(lease, NULL) == HF_FORKED);
  CHECK(hf_lease_detach(lease, &handle, NULL) == HF_FORKED);
  CHECK(hf_lease_on_lost(lease, say_lost, "", NULL) == HF_FORKED);
  CHECK(hf_client_ping(client, NULL) == HF_FORKED);
  CHECK(hf_client_list(client, NULL, 0, &locks, NULL) == HF_FORKED);
  CHECK(hf_client_evict(client, "x", 1, 1, NULL) == HF_FORKED);
  hf_cancel_now(cancel);
  hf_cancel_free(cancel);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
  _exit(0);
}

static void* wait_in_parent(void* data) {
  void** parts = data;
  hf_lease* lease = NULL;
  CHECK(hf_lock_acquire(parts[0], HF_FOREVER, parts[1], &lease, NULL) == HF_OK);
  return lease;
}

void a_forked_child_holds_nothing(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  hf_lease* lease = acquire(lock);
  hf_cancel* cancel = NULL;
  pthread_t thread;
  void* parts[2];
  void* second = NULL;
  int status = 0;
  pid_t child;

  OK(hf_lease_on_lost(lease, count_told, NULL, &failed));
  OK(hf_cancel_new(&cancel, &failed));
  parts[0] = lock;
  parts[1] = cancel;
  CHECK(pthread_create(&thread, NULL, wait_in_parent, parts) == 0);  // the library is busy
  while (waiters_of(client, "x") == 0) sleep_ms(5);
  child = fork();
  if (child == 0) in_the_child(client, lock, lease, cancel);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(hf_lease_held(lease) == 1);  // and the parent's is what it was
  CHECK(waiters_of(client, "x") == 1);
  hf_lease_free(lease);
  CHECK(pthread_join(thread, &second) == 0);
  CHECK(hf_lease_held(second) == 1);
  CHECK(__atomic_load_n(&told, __ATOMIC_SEQ_CST) == 0);
  hf_lease_free(second);
  hf_cancel_free(cancel);
  hf_lock_free(lock);
  hf_client_free(client);
}

static void check_fence(hf_fence* fence) {
  hf_pass* pass = NULL;
  hf_error* error = NULL;
  uint64_t mark = 77;
  OK(hf_fence_mark(fence, &mark, &failed));
  CHECK(mark == 0);
  OK(hf_fence_enter(fence, 34, HF_EXCLUSIVE, &pass, &failed));
  hf_pass_free(pass);
  CHECK(hf_fence_enter(fence, 33, HF_EXCLUSIVE, &pass, &error) == HF_STALE_TOKEN && pass == NULL);
  CHECK(strstr(hf_error_message(error), "34") != NULL);
  hf_error_free(error);
  OK(hf_fence_enter(fence, 36, HF_SHARED, &pass, &failed));
  hf_pass_free(pass);
  OK(hf_fence_enter(fence, 35, HF_SHARED, &pass, &failed));  // no writer has been here since
  hf_fence_free(fence);                                      // a pass may outlive it
  hf_pass_free(pass);
}

void a_fence_refuses_older_tokens(void) {
  char file[4096], database[4096];
  hf_fence* fence = NULL;
  hf_pass* pass = NULL;
  snprintf(file, sizeof file, "%s/ledger.fence", work_directory);
  snprintf(database, sizeof database, "%s/ledger.db", work_directory);
  OK(hf_fence_in_file(file, &fence, &failed));
  CHECK(hf_fence_enter(fence, 1, HF_PERMIT, &pass, NULL) == HF_INVALID_ARGUMENT);
  CHECK(hf_fence_enter(fence, 0, HF_EXCLUSIVE, &pass, NULL) == HF_INVALID_ARGUMENT);
  check_fence(fence);
  OK(hf_fence_in_sqlite(database, "a\0b", 3, &fence, &failed));
  check_fence(fence);
  CHECK(hf_fence_in_file("/nowhere/at/all", &fence, NULL) != HF_OK && fence == NULL);
}
