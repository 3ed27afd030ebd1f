#define _GNU_SOURCE
#include "calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

struct pyhf_call {
  pthread_mutex_t mutex; /* guards all that follows and is not said to be fixed */
  pid_t process;         /* fixed */
  hf_cancel* cancel;     /* fixed once the call has begun */
  hf_lease* lease;       /* fixed once the call has ended */
  hf_error* error;       /* the same */
  hf_code code;
  int ended_fd;
  int lost_fd;
  int loss;
  int under_way; /* a callback will come */
  int unwanted;  /* nobody takes what comes of it */
  int dropped;   /* it is freed by the callback */
};

/* In a forked child a mutex may be locked for ever, and no callback comes. */
static int foreign(const pyhf_call* call) { return call->process != getpid(); }

static void tell(int descriptor) {
  const uint64_t one = 1;
  if (descriptor >= 0 && write(descriptor, &one, sizeof one) < 0)
    return; /* It is readable already. */
}

static void free_call(pyhf_call* call) {
  hf_lease_free(call->lease); /* Waits for a callback of its loss, which uses the rest. */
  hf_error_free(call->error);
  hf_cancel_free(call->cancel);
  if (call->ended_fd >= 0) close(call->ended_fd);
  if (call->lost_fd >= 0) close(call->lost_fd);
  if (!foreign(call)) pthread_mutex_destroy(&call->mutex);
  free(call);
}

pyhf_call* pyhf_call_new(void) {
  pyhf_call* call = calloc(1, sizeof *call);
  if (!call) return NULL;
  pthread_mutex_init(&call->mutex, NULL);
  call->process = getpid();
  call->code = HF_CLOSED;
  call->ended_fd = call->lost_fd = -1;
  return call;
}

void pyhf_call_drop(pyhf_call* call) {
  if (!call) return;
  if (!foreign(call)) {
    hf_cancel_now(call->cancel);
    pthread_mutex_lock(&call->mutex);
    call->dropped = call->unwanted = 1;
    const int under_way = call->under_way;
    pthread_mutex_unlock(&call->mutex);
    if (under_way) return; /* The callback frees it. */
  }
  free_call(call);
}

void pyhf_call_discard(pyhf_call* call) {
  hf_lease* lease = NULL;
  if (foreign(call)) return;
  hf_cancel_now(call->cancel);
  pthread_mutex_lock(&call->mutex);
  call->unwanted = 1;
  if (!call->under_way) {
    lease = call->lease;
    call->lease = NULL;
  }
  pthread_mutex_unlock(&call->mutex);
  hf_lease_free(lease);
}

void pyhf_call_cancel(pyhf_call* call) {
  if (!foreign(call)) hf_cancel_now(call->cancel);
}

static void ended(pyhf_call* call, hf_code code, hf_lease* lease, hf_error* error) {
  pthread_mutex_lock(&call->mutex);
  call->code = code;
  call->error = error;
  if (!call->unwanted) {
    call->lease = lease;
    lease = NULL;
  }
  call->under_way = 0;
  const int dropped = call->dropped;
  tell(call->ended_fd);
  pthread_mutex_unlock(&call->mutex);
  /* From here on the call belongs to Python again, unless Python has dropped it. */
  hf_lease_free(lease);
  if (dropped) free_call(call);
}

static void granted(void* data, hf_code code, hf_lease* lease, hf_error* error) {
  ended(data, code, lease, error);
}

static void released(void* data, hf_code code, hf_error* error) { ended(data, code, NULL, error); }

static void lost(void* data) {
  pyhf_call* call = data;
  pthread_mutex_lock(&call->mutex);
  if (call->loss == PYHF_HELD) call->loss = PYHF_LOST;
  tell(call->lost_fd);
  pthread_mutex_unlock(&call->mutex);
}

hf_code pyhf_acquire(pyhf_call* call, hf_lock* lock, int64_t patience_ms) {
  return hf_lock_acquire(lock, patience_ms, NULL, &call->lease, &call->error);
}

hf_code pyhf_try(pyhf_call* call, hf_lock* lock) {
  hf_error_free(call->error);
  return hf_lock_try(lock, &call->lease, &call->error);
}

hf_code pyhf_adopt(pyhf_call* call, hf_client* client, const char* handle,
                   const hf_lock_options* options) {
  return hf_client_adopt(client, handle, options, &call->lease, &call->error);
}

static int begin(pyhf_call* call) {
  if (hf_cancel_new(&call->cancel, NULL) != HF_OK) return -1;
  call->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  call->under_way = call->ended_fd >= 0;
  return call->ended_fd;
}

int pyhf_begin_acquire(pyhf_call* call, hf_lock* lock, int64_t patience_ms) {
  hf_error_free(call->error);
  call->error = NULL;
  const int descriptor = begin(call);
  if (descriptor >= 0) hf_lock_acquire_async(lock, patience_ms, call->cancel, granted, call);
  return descriptor;
}

int pyhf_begin_release(pyhf_call* call, hf_lease* lease) {
  const int descriptor = begin(call);
  if (descriptor >= 0) hf_lease_release_async(lease, released, call);
  return descriptor;
}

hf_code pyhf_result(pyhf_call* call) {
  pthread_mutex_lock(&call->mutex);
  const hf_code code = call->code;
  pthread_mutex_unlock(&call->mutex);
  return code;
}

hf_lease* pyhf_lease(pyhf_call* call) { return call->lease; }

const hf_error* pyhf_failure(const pyhf_call* call) { return call->error; }

int pyhf_watch_loss(pyhf_call* call) {
  if (foreign(call)) return -1;
  pthread_mutex_lock(&call->mutex);
  const int first = call->lost_fd < 0;
  if (first) call->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int descriptor = call->lost_fd;
  pthread_mutex_unlock(&call->mutex);
  if (!first || descriptor < 0) return descriptor;
  /* Calls back at once, if it is lost already. */
  const hf_code code = hf_lease_on_lost(call->lease, lost, call, NULL);
  if (code != HF_OK) pyhf_end_watch(call, code);
  return descriptor;
}

int pyhf_loss(pyhf_call* call) {
  if (foreign(call)) return PYHF_LOST; /* The lock is the parent's. */
  pthread_mutex_lock(&call->mutex);
  const int loss = call->loss;
  pthread_mutex_unlock(&call->mutex);
  return loss;
}

void pyhf_end_watch(pyhf_call* call, hf_code outcome) {
  if (foreign(call)) return;
  pthread_mutex_lock(&call->mutex);
  if (call->loss == PYHF_HELD) call->loss = outcome == HF_NOT_HELD ? PYHF_LOST : PYHF_ENDED;
  tell(call->lost_fd);
  pthread_mutex_unlock(&call->mutex);
}

void pyhf_free_error(hf_error** slot) { hf_error_free(*slot); }
void pyhf_free_client(hf_client** slot) { hf_client_free(*slot); }
void pyhf_free_lock(hf_lock** slot) { hf_lock_free(*slot); }
void pyhf_free_locks(hf_locks** slot) { hf_locks_free(*slot); }
void pyhf_free_fence(hf_fence** slot) { hf_fence_free(*slot); }
void pyhf_free_pass(hf_pass** slot) { hf_pass_free(*slot); }
void pyhf_free_text(char** slot) { hf_text_free(*slot); }
