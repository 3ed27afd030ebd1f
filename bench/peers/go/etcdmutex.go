// etcdmutex URL: the Mutex of etcd's Go package `concurrency` as a worker; one session for all.
package main

import (
	"context"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: hosts(os.Args[1]), DialTimeout: 15 * time.Second})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
	check(err)
	serve(func(name string) lock {
		mutex := concurrency.NewMutex(session, name)
		return func() func() {
			check(mutex.Lock(context.Background()))
			return func() { check(mutex.Unlock(context.Background())) }
		}
	})
	session.Close()
}
