// The C interface: for C, and for every language that calls C. Plain types, opaque handles, no exceptions.
//
//   hf_client *client;
//   hf_lock *lock;
//   hf_lease *lease;
//   hf_error *error;
//   if (hf_client_open("sqlite:///var/lib/app/locks.db", NULL, &client, &error)) … hf_error_message(error) …
//   if (hf_lock_new(client, "nightly-report", 14, NULL, &lock, &error)) …
//   switch (hf_lock_acquire(lock, 10000, NULL, &lease, &error)) {
//     case HF_OK: … hf_lease_token(lease) … break;
//     case HF_BUSY: … somebody else holds it: not an error …
//     case HF_UNKNOWN: … no answer came: never read it as "no" …
//     default: … it did not happen …
//   }
//   hf_lease_free(lease);  // gives the lock back
//
// Outcomes. A call returns HF_OK or the code of its failure. `error`, the last parameter, may be NULL; otherwise
// it is set: to NULL by success, else to an object with the message, which the caller frees. (Where no memory is
// left for it, it is NULL also after a failure: all hf_error_… functions take NULL.) What a failed call should have
// made is set to NULL.
//
// Ownership. Every hf_X that a function gives out belongs to the caller and is freed by hf_X_free(), which takes
// NULL. Any order will do: a lease keeps what it needs of its client alive. Text and structures that an object
// gives out live as long as that object. Arguments are copied, and may be freed when the call returns.
//
// Text. A lock's name, a label and a resource may hold any bytes and come as pointer and length. A text without a
// length ends with NUL. Messages and hf_busy are fit to print; names and labels are what strangers chose.
//
// Time. Durations are milliseconds, in int64_t. Moments are nanoseconds of CLOCK_BOOTTIME.
//
// Threads. Every object may be used by several threads at the same time, but freed only when no other thread uses
// it. Do not pthread_cancel() a thread that may be inside a call; give the call an hf_cancel. No function here may
// be called from a signal handler. Callbacks come on threads of the library, where all signals are blocked; they
// may block, and may call everything here.
//
// fork(). A client and all that came from it belong to the process that opened it. In the child every call fails
// with HF_FORKED, hf_lease_held() is 0, no callback comes, and hf_X_free() frees memory at most: the lock stays the
// parent's. The child opens a client of its own; on the embedded engine after exec(), or where no client was open
// in the parent when it forked. Fences may be used after a fork, but a pass stays with the parent.
//
// Growth. A structure begins with its size: set it to sizeof, and all else to 0 for the defaults. Fields are only
// added at the end, so a program runs with every later library of the same HOLDFAST_C_VERSION or a higher one.
// Codes and modes may be added: have a default. (They are integers: in an enum of C++ a value that it does not list is
// undefined.) The shared library has these symbols under the version HOLDFAST_C_1.
//
// Linking. `pkg-config --libs holdfast` has all that a C program needs. With CMake, a project that links a static
// library has C and CXX among its languages.
//
// C++ programs: the classes beside this file say more, and free what they give out themselves.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef HOLDFAST_SHARED
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Of this header. Grows when something is added; what is there stays.
#define HOLDFAST_C_VERSION 1
// Of the library that the program runs with.
HF_API int hf_c_version(void);
HF_API const char* hf_version(void);  // "0.1.0"

// ---- Failures -----------------------------------------------------------------------------------

typedef int32_t hf_code;
enum {
  HF_OK = 0,
  HF_BUSY = 1,       // held by somebody else, and the wait (if any) is over; see hf_error_busy()
  HF_UNKNOWN = 2,    // sent, but not answered: it may have been done; cleaning up has begun
  HF_CANCELLED = 3,  // hf_cancel_now(); nothing is left behind
  HF_NOT_HELD = 4,   // this lease does not hold the lock (any more)
  HF_INVALID_ARGUMENT = 5,  // the caller's value is wrong: name, ttl, URL, permits, NULL
  HF_UNSUPPORTED = 6,       // this engine, or this library, cannot do that
  HF_MISCONFIGURED = 7,     // the store is not usable as it is: permissions, corrupt, password
  HF_UNREACHABLE = 8,       // the store did not answer or refused for now
  HF_FORKED = 9,            // the client belongs to the parent process
  HF_CLOSED = 10,           // the lease was released or detached
  HF_WOULD_DEADLOCK = 11,   // a call that would wait for itself
  HF_STALE_TOKEN = 12,      // a fence has seen a newer token
  HF_EXHAUSTED = 13         // no thread, descriptor or memory left for this process
};

// "not_held" for HF_NOT_HELD, and so on: stable, for logs. "unknown_code" for a code that this library does not have.
HF_API const char* hf_code_name(hf_code code);

typedef struct hf_error hf_error;
HF_API void hf_error_free(hf_error* error);
HF_API hf_code hf_error_code(const hf_error* error);
// One line, fit to print, that says what to do. Never a password. "" for NULL.
HF_API const char* hf_error_message(const hf_error* error);

// The holders in the way.
typedef struct hf_busy {
  size_t size;
  const char* lock;       // the lock's name, for people
  const char* holder;     // the holder's label, for people; may be empty
  uint64_t rank;          // how many waiters were ahead of us
  uint64_t token;         // of (one of) the present holders; 0 if not known
  int64_t expires_in_ms;  // how long the present grant can last without a renewal; -1 if not known
} hf_busy;
// Fills `busy` and returns 1 if the code is HF_BUSY; else returns 0. REQUIRES: busy->size is set.
HF_API int hf_error_busy(const hf_error* error, hf_busy* busy);

// ---- Clients ------------------------------------------------------------------------------------

typedef struct hf_client hf_client;

typedef struct hf_client_options {
  size_t size;
  const char* label;  // what others see of this client; NULL: "user@host pid program"
  size_t label_length;
  int64_t request_timeout_ms;  // of one request, before its outcome counts as unknown; 0: 5000
  int64_t release_timeout_ms;  // of hf_lease_free() and hf_client_free() at most; 0: 2000
} hf_client_options;

// `url` as for holdfast::Client::open(); NULL: the embedded engine in the user's state directory. A server is
// connected to when it is first needed: see hf_client_ping().
HF_API hf_code hf_client_open(const char* url, const hf_client_options* options, hf_client** client,
                              hf_error** error);
HF_API void hf_client_free(hf_client* client);
// Asks the server now, and takes no lock.
HF_API hf_code hf_client_ping(hf_client* client, hf_error** error);

typedef int32_t hf_exclusion;
enum { HF_BEST_EFFORT = 0, HF_BOUNDED_BY_CLOCKS = 1, HF_LINEARIZABLE = 2 };
typedef int32_t hf_token_strength;
enum {
  HF_TOKEN_NONE = 0,
  HF_TOKEN_VOLATILE = 1,          // in memory
  HF_TOKEN_DURABLE_ONE_NODE = 2,  // on the disk of one node
  HF_TOKEN_QUORUM = 3,
  HF_TOKEN_LINEARIZABLE = 4
};

// The engine's guarantees; from the first answer of a server on, those of that server.
typedef struct hf_guarantees {
  size_t size;
  const char* engine;  // "sqlite"
  const char* recipe;  // "table"
  hf_exclusion exclusion;
  hf_token_strength token;
  int shared_mode;  // 1: HF_SHARED can be had
  int permit_mode;  // 1: HF_PERMIT can be had
  int pushes;       // 1: waiters are woken; 0: they poll
  int in_order;     // 1: first come, first served
  int64_t min_ttl_ms;
} hf_guarantees;
// REQUIRES: guarantees->size is set. The texts live as long as the client.
HF_API hf_code hf_client_guarantees(const hf_client* client, hf_guarantees* guarantees,
                                    hf_error** error);

// ---- Cancellation -------------------------------------------------------------------------------

// Ends waits from another thread: each call that it was given to fails with HF_CANCELLED and leaves nothing behind.
// For good: a call that is given a triggered one fails at once.
typedef struct hf_cancel hf_cancel;
HF_API hf_code hf_cancel_new(hf_cancel** cancel, hf_error** error);
// Triggers it. Not from a signal handler; and does nothing in a forked child.
HF_API void hf_cancel_now(hf_cancel* cancel);
// While calls still wait with it, too; they can no longer be cancelled then.
HF_API void hf_cancel_free(hf_cancel* cancel);

// ---- Locks --------------------------------------------------------------------------------------

// One way to ask for one lock, as often as you like.
typedef struct hf_lock hf_lock;
typedef struct hf_lease hf_lease;

typedef int32_t hf_mode;
enum {
  HF_EXCLUSIVE = 0,
  HF_SHARED = 1,  // together with other shared holders; queues behind a waiting exclusive claim
  HF_PERMIT = 2   // one of `permits`
};

typedef struct hf_lock_options {
  size_t size;
  hf_mode mode;
  uint32_t
      permits;  // with HF_PERMIT: how many may hold at once; all who name the lock must say the same
  int64_t ttl_ms;  // how long the lock outlives a holder that vanished; 0: 30000
  int64_t
      warn_before_ms;  // how long before the lock can end its loss is told; 0: a tenth of the ttl, at most 5000
  int no_renewal;     // 1: it ends after one ttl, unless hf_lease_renew() is called
  int among_readers;  // 1: HF_EXCLUSIVE as the writer of a lock that others take with HF_SHARED
  hf_exclusion exclusion;  // what the engine must be able to give; 0: anything
  hf_token_strength token;
} hf_lock_options;

// The name is 1 to 16384 bytes. HF_UNSUPPORTED if the engine cannot give the mode or what is required. Nothing is sent
// yet.
HF_API hf_code hf_lock_new(hf_client* client, const char* name, size_t name_length,
                           const hf_lock_options* options, hf_lock** lock, hf_error** error);
HF_API void hf_lock_free(hf_lock* lock);

#define HF_FOREVER (-1)

// Waits up to `patience_ms` (HF_BUSY then, or HF_UNREACHABLE if the server is still away) or HF_FOREVER. Goes on
// asking through restarts and failovers. `cancel` may be NULL.
HF_API hf_code hf_lock_acquire(hf_lock* lock, int64_t patience_ms, hf_cancel* cancel,
                               hf_lease** lease, hf_error** error);
// Does not wait: HF_BUSY if it is not free, or somebody waits already.
HF_API hf_code hf_lock_try(hf_lock* lock, hf_lease** lease, hf_error** error);

// As hf_lock_acquire, without a thread that waits. `done` is called exactly once: on a thread of the library, or,
// where the call cannot even begin, on this thread before the function returns. Lease and error are the callee's.
typedef void hf_granted(void* data, hf_code code, hf_lease* lease, hf_error* error);
HF_API void hf_lock_acquire_async(hf_lock* lock, int64_t patience_ms, hf_cancel* cancel,
                                  hf_granted* done, void* data);

// ---- Leases -------------------------------------------------------------------------------------

// A lock that was granted. It is renewed in the background until it is released, freed or lost; a lost one never
// comes back.
//
// Gives the lock back, if that was not done yet, within release_timeout_ms. Waits for a callback of
// hf_lease_on_lost() that is running, unless it is called from there.
HF_API void hf_lease_free(hf_lease* lease);

// The fencing token, greater than that of every earlier holder. These three also after a release.
HF_API uint64_t hf_lease_token(const hf_lease* lease);
HF_API hf_mode hf_lease_mode(const hf_lease* lease);
HF_API const char* hf_lease_name(const hf_lease* lease, size_t* length);

// 1 while the lock is ours; reads the clock. Once 0, 0 for ever; 0 after a release, and in a forked child. It cannot
// promise that the process is not paused before its next step: show the token to the resource.
HF_API int hf_lease_held(const hf_lease* lease);
// The moment until which the lock is surely ours; 0 after a release.
HF_API int64_t hf_lease_valid_until_ns(const hf_lease* lease);

// Calls `lost` once, before the lock can end, or as soon as the engine says that it is gone; at once and on this thread
// if it is lost already. Several may be set. Not called after a release, nor after hf_lease_free() has returned.
HF_API hf_code hf_lease_on_lost(hf_lease* lease, void (*lost)(void* data), void* data,
                                hf_error** error);

// Renews now, in addition to the background.
HF_API hf_code hf_lease_renew(hf_lease* lease, hf_error** error);
// Gives the lock back; the lease must still be freed. HF_NOT_HELD if it had been lost: nothing of anybody else's is
// touched then. HF_CLOSED if this was done before. After HF_UNKNOWN or HF_UNREACHABLE the lock ends by its ttl.
HF_API hf_code hf_lease_release(hf_lease* lease, hf_error** error);
// As hf_lease_release, without waiting: `done` as for hf_lock_acquire_async(). It may be called after hf_lease_free().
typedef void hf_released(void* data, hf_code code, hf_error* error);
HF_API void hf_lease_release_async(hf_lease* lease, hf_released* done, void* data);

// Ends the renewal and leaves the lock held, until its ttl ends or somebody adopts it. The handle is one word of
// text, and whoever has it can release the lock. Freed by hf_text_free(); the lease must still be freed.
HF_API hf_code hf_lease_detach(hf_lease* lease, char** handle, hf_error** error);
HF_API void hf_text_free(char* text);
// Takes over a detached lock, here or in another process: this client renews it from now on. Of `options` the mode and
// the permits do not count.
HF_API hf_code hf_client_adopt(hf_client* client, const char* handle,
                               const hf_lock_options* options, hf_lease** lease, hf_error** error);
// Releases a detached lock without adopting it.
HF_API hf_code hf_client_release(hf_client* client, const char* handle, hf_error** error);

// ---- Looking ------------------------------------------------------------------------------------

// The answer of list and inspect: `count` locks, sorted by name, as they were at that moment.
typedef struct hf_locks hf_locks;

typedef struct hf_lock_info {
  size_t size;
  const char* name;
  size_t name_length;
  uint64_t
      last_token;  // the highest ever granted; 0 if there was none, or the engine does not remember
  uint32_t permits;
  size_t holders;
  size_t waiters;  // in the order in which they will be served
} hf_lock_info;

typedef struct hf_party {
  size_t size;
  const char* label;
  size_t label_length;
  hf_mode mode;
  uint64_t token;         // a holder's; 0 of a waiter
  int64_t since_ms;       // for how long it has held or waited; -1 if not known
  int64_t expires_in_ms;  // a holder's; -1 if not known
} hf_party;

// Locks whose names begin with the prefix (of length 0: all) and that are held or waited for.
HF_API hf_code hf_client_list(hf_client* client, const char* prefix, size_t prefix_length,
                              hf_locks** locks, hf_error** error);
// One lock, also if nobody holds it: `count` is 1.
HF_API hf_code hf_client_inspect(hf_client* client, const char* name, size_t name_length,
                                 hf_locks** locks, hf_error** error);
HF_API void hf_locks_free(hf_locks* locks);
HF_API size_t hf_locks_count(const hf_locks* locks);
// These three return 1, or 0 if there is no such index. REQUIRES: the size of what they fill is set.
HF_API int hf_locks_get(const hf_locks* locks, size_t lock, hf_lock_info* info);
HF_API int hf_locks_holder(const hf_locks* locks, size_t lock, size_t holder, hf_party* party);
HF_API int hf_locks_waiter(const hf_locks* locks, size_t lock, size_t waiter, hf_party* party);

// Takes the lock away from the holder with exactly this token; HF_NOT_HELD if there is none. The holder learns of it
// at its next renewal; only a fence protects the resource meanwhile.
HF_API hf_code hf_client_evict(hf_client* client, const char* name, size_t name_length,
                               uint64_t token, hf_error** error);

// ---- Fences -------------------------------------------------------------------------------------

// The check at a resource of yours that refuses an older token: see holdfast/fence.h for the rule. No client is needed.
typedef struct hf_fence hf_fence;
typedef struct hf_pass hf_pass;

// The mark in a small file of its own, on a local file system.
HF_API hf_code hf_fence_in_file(const char* file, hf_fence** fence, hf_error** error);
// The mark of `resource` (1 to 16384 bytes) in tables of a SQLite database.
HF_API hf_code hf_fence_in_sqlite(const char* database, const char* resource,
                                  size_t resource_length, hf_fence** fence, hf_error** error);
HF_API void hf_fence_free(hf_fence* fence);

// Waits until nobody is inside, then admits the token by the rule, or fails with HF_STALE_TOKEN. `mode` is that of the
// lease: HF_EXCLUSIVE or HF_SHARED. Nobody else is inside until the pass is freed: keep it for one operation. It may
// outlive the fence.
HF_API hf_code hf_fence_enter(hf_fence* fence, uint64_t token, hf_mode mode, hf_pass** pass,
                              hf_error** error);
HF_API void hf_pass_free(hf_pass* pass);
// The highest token ever admitted; 0 if none.
HF_API hf_code hf_fence_mark(const hf_fence* fence, uint64_t* token, hf_error** error);

#ifdef __cplusplus
}
#endif
