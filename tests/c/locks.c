// Taking locks: modes, waits, cancellation, what others see.
#include <pthread.h>

#include "check.h"

void a_lock_has_one_holder(void) {
  hf_client_options options;
  hf_client *one, *other;
  hf_lock *mine, *theirs;
  hf_lease *lease, *second = NULL;
  hf_error* error = NULL;
  hf_busy busy;
  uint64_t first_token;

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.label = "the night shift";
  options.label_length = strlen(options.label);
  OK(hf_client_open(database_url, &options, &one, &failed));
  other = open_client();
  mine = new_lock(one, "x", HF_EXCLUSIVE, 0, 0);
  theirs = new_lock(other, "x", HF_EXCLUSIVE, 0, 0);
  OK(hf_lock_try(mine, &lease, &failed));
  CHECK(hf_lease_held(lease) == 1);
  first_token = hf_lease_token(lease);
  CHECK(first_token > 0);

  CHECK(hf_lock_try(theirs, &second, &error) == HF_BUSY);
  CHECK(second == NULL);
  busy.size = sizeof busy;
  CHECK(hf_error_busy(error, &busy) == 1);
  CHECK(strcmp(busy.holder, "the night shift") == 0);
  CHECK(strcmp(busy.lock, "x") == 0);
  CHECK(busy.token == first_token && busy.expires_in_ms > 0 && busy.expires_in_ms <= 30000);
  hf_error_free(error);
  CHECK(hf_lock_acquire(theirs, 50, NULL, &second, &error) == HF_BUSY);
  CHECK(strstr(hf_error_message(error), "the night shift") != NULL);
  hf_error_free(error);

  hf_lease_free(lease);  // gives it back
  second = acquire(theirs);
  CHECK(hf_lease_token(second) > first_token);
  hf_client_free(other);  // a lease keeps what it needs
  hf_lock_free(theirs);
  CHECK(hf_lease_held(second) == 1);
  hf_lease_free(second);
  hf_lock_free(mine);
  hf_client_free(one);
}

void modes_share(void) {
  hf_client* client = open_client();
  hf_lock* readers = new_lock(client, "x", HF_SHARED, 0, 0);
  hf_lock* permits = new_lock(client, "y", HF_PERMIT, 2, 0);
  hf_lock_options options;
  hf_lock* writer;
  hf_lease *one, *two, *none = NULL;

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.among_readers = 1;
  OK(hf_lock_new(client, "x", 1, &options, &writer, &failed));
  one = acquire(readers);
  two = acquire(readers);
  CHECK(hf_lease_mode(one) == HF_SHARED);
  CHECK(hf_lock_try(writer, &none, NULL) == HF_BUSY);
  hf_lease_free(one);
  hf_lease_free(two);
  one = acquire(writer);
  CHECK(hf_lease_mode(one) == HF_EXCLUSIVE);
  CHECK(hf_lock_try(readers, &none, NULL) == HF_BUSY);
  hf_lease_free(one);

  one = acquire(permits);
  two = acquire(permits);
  CHECK(hf_lease_mode(two) == HF_PERMIT);
  CHECK(hf_lock_try(permits, &none, NULL) == HF_BUSY);
  hf_lease_free(one);
  OK(hf_lock_try(permits, &one, &failed));
  hf_lease_free(one);
  hf_lease_free(two);
  hf_lock_free(readers);
  hf_lock_free(writer);
  hf_lock_free(permits);
  hf_client_free(client);
}

void names_hold_any_bytes(void) {
  static const char name[] = "a\0b/\xff\n";
  hf_client* client = open_client();
  hf_lock* lock = NULL;
  hf_lease* lease;
  hf_locks* locks = NULL;
  hf_lock_info info;
  size_t length = 0;

  OK(hf_lock_new(client, name, 6, NULL, &lock, &failed));
  lease = acquire(lock);
  CHECK(memcmp(hf_lease_name(lease, &length), name, 6) == 0 && length == 6);
  OK(hf_client_list(client, "a\0", 2, &locks, &failed));
  CHECK(hf_locks_count(locks) == 1);
  info.size = sizeof info;
  CHECK(hf_locks_get(locks, 0, &info) == 1);
  CHECK(info.name_length == 6 && memcmp(info.name, name, 6) == 0);
  hf_locks_free(locks);
  OK(hf_client_list(client, "a\1", 2, &locks, &failed));
  CHECK(hf_locks_count(locks) == 0);
  CHECK(hf_locks_get(locks, 0, &info) == 0);
  hf_locks_free(locks);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
}

struct waiting {
  hf_lock* lock;
  hf_cancel* cancel;
  hf_code code;
  hf_lease* lease;
};

static void* wait_for_it(void* data) {
  struct waiting* waiting = data;
  waiting->code =
      hf_lock_acquire(waiting->lock, HF_FOREVER, waiting->cancel, &waiting->lease, NULL);
  return NULL;
}

void a_wait_can_be_cancelled(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  hf_lease* lease = acquire(lock);
  struct waiting waiting;
  pthread_t thread;

  waiting.lock = lock;
  OK(hf_cancel_new(&waiting.cancel, &failed));
  CHECK(pthread_create(&thread, NULL, wait_for_it, &waiting) == 0);
  while (waiters_of(client, "x") == 0) sleep_ms(5);
  hf_cancel_now(waiting.cancel);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(waiting.code == HF_CANCELLED && waiting.lease == NULL);
  CHECK(waiters_of(client, "x") == 0);
  // For good: the next call fails at once.
  CHECK(hf_lock_acquire(lock, HF_FOREVER, waiting.cancel, &waiting.lease, NULL) == HF_CANCELLED);
  hf_cancel_free(waiting.cancel);
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
}

struct arrival {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int count;
  hf_code code;
  hf_lease* lease;
};

static void arrive(void* data, hf_code code, hf_lease* lease, hf_error* error) {
  struct arrival* arrival = data;
  hf_error_free(error);
  pthread_mutex_lock(&arrival->mutex);
  arrival->count++;
  arrival->code = code;
  arrival->lease = lease;
  pthread_cond_signal(&arrival->changed);
  pthread_mutex_unlock(&arrival->mutex);
}

static void arrive_released(void* data, hf_code code, hf_error* error) {
  arrive(data, code, NULL, error);
}

static void await_count(struct arrival* arrival, int count) {
  pthread_mutex_lock(&arrival->mutex);
  while (arrival->count < count) pthread_cond_wait(&arrival->changed, &arrival->mutex);
  CHECK(arrival->count == count);
  pthread_mutex_unlock(&arrival->mutex);
}

void an_asynchronous_wait_ends_once(void) {
  hf_client* client = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  hf_lease* lease = acquire(lock);
  hf_cancel* cancel = NULL;
  struct arrival arrival;

  memset(&arrival, 0, sizeof arrival);
  pthread_mutex_init(&arrival.mutex, NULL);
  pthread_cond_init(&arrival.changed, NULL);
  OK(hf_cancel_new(&cancel, &failed));
  hf_lock_acquire_async(lock, HF_FOREVER, cancel, arrive, &arrival);
  while (waiters_of(client, "x") == 0) sleep_ms(5);
  hf_cancel_now(cancel);
  await_count(&arrival, 1);
  CHECK(arrival.code == HF_CANCELLED && arrival.lease == NULL);

  hf_lock_acquire_async(lock, 20000, NULL, arrive, &arrival);
  while (waiters_of(client, "x") == 0) sleep_ms(5);
  hf_lease_free(lease);
  await_count(&arrival, 2);
  CHECK(arrival.code == HF_OK && hf_lease_held(arrival.lease) == 1);
  lease = arrival.lease;
  hf_lock_acquire_async(lock, 10, NULL, arrive, &arrival);
  await_count(&arrival, 3);
  CHECK(arrival.code == HF_BUSY);
  hf_lock_acquire_async(lock, -5, NULL, arrive, &arrival);  // cannot begin: told before it returns
  CHECK(arrival.count == 4 && arrival.code == HF_INVALID_ARGUMENT);

  hf_lease_release_async(lease, arrive_released, &arrival);
  hf_lease_free(lease);
  await_count(&arrival, 5);
  CHECK(arrival.code == HF_OK);
  OK(hf_lock_try(lock, &lease, &failed));
  hf_lease_free(lease);
  hf_cancel_free(cancel);
  hf_lock_free(lock);
  hf_client_free(client);
}

void locks_are_listed_and_evicted(void) {
  hf_client* client = open_client();
  hf_client* other = open_client();
  hf_lock* lock = new_lock(client, "x", HF_EXCLUSIVE, 0, 0);
  hf_lock* later = new_lock(other, "x", HF_EXCLUSIVE, 0, 0);
  hf_lease* lease = acquire(lock);
  struct waiting waiting;
  pthread_t thread;
  hf_locks* locks = NULL;
  hf_lock_info info;
  hf_party party;

  waiting.lock = later;
  waiting.cancel = NULL;
  CHECK(pthread_create(&thread, NULL, wait_for_it, &waiting) == 0);
  while (waiters_of(client, "x") == 0) sleep_ms(5);
  OK(hf_client_list(client, NULL, 0, &locks, &failed));
  info.size = sizeof info;
  party.size = sizeof party;
  CHECK(hf_locks_count(locks) == 1 && hf_locks_get(locks, 0, &info) == 1);
  CHECK(info.holders == 1 && info.waiters == 1 && info.last_token == hf_lease_token(lease));
  CHECK(hf_locks_holder(locks, 0, 0, &party) == 1);
  CHECK(party.token == hf_lease_token(lease) && party.mode == HF_EXCLUSIVE &&
        party.label_length > 0);
  CHECK(party.expires_in_ms > 0);
  CHECK(hf_locks_waiter(locks, 0, 0, &party) == 1);
  CHECK(party.token == 0 && party.expires_in_ms == -1);
  CHECK(hf_locks_holder(locks, 0, 1, &party) == 0 && hf_locks_waiter(locks, 1, 0, &party) == 0);
  hf_locks_free(locks);

  CHECK(hf_client_evict(other, "x", 1, hf_lease_token(lease) + 1, NULL) == HF_NOT_HELD);
  OK(hf_client_evict(other, "x", 1, hf_lease_token(lease), &failed));
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(waiting.code == HF_OK && hf_lease_token(waiting.lease) > hf_lease_token(lease));
  CHECK(hf_lease_release(lease, NULL) == HF_NOT_HELD);
  CHECK(hf_lease_held(waiting.lease) == 1);  // nothing of anybody else's was touched
  hf_lease_free(lease);
  hf_lease_free(waiting.lease);
  hf_lock_free(lock);
  hf_lock_free(later);
  hf_client_free(client);
  hf_client_free(other);
}
