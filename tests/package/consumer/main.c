/* Takes the lock of a database, and prints the token. Usage: consumer DATABASE */
#include <holdfast/c.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char url[4096];
  hf_client* client;
  hf_lock* lock;
  hf_lease* lease;
  if (argc != 2) return 2;
  snprintf(url, sizeof url, "sqlite://%s", argv[1]);
  if (hf_client_open(url, NULL, &client, NULL) != HF_OK) return 1;
  if (hf_lock_new(client, "consumer", 8, NULL, &lock, NULL) != HF_OK) return 1;
  if (hf_lock_try(lock, &lease, NULL) != HF_OK) return 1;
  printf("%llu\n", (unsigned long long)hf_lease_token(lease));
  hf_lease_free(lease);
  hf_lock_free(lock);
  hf_client_free(client);
  return 0;
}
