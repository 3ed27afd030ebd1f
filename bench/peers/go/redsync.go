// redsync URL: redsync as a worker, on one Redis or on several. At its defaults, but for the number of
// tries: who waits shall wait.
package main

import (
	"context"
	"math"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	var pools []redsyncredis.Pool
	for _, host := range hosts(os.Args[1]) {
		client := redis.NewClient(&redis.Options{Addr: host, PoolSize: 300})
		check(client.Ping(context.Background()).Err())
		pools = append(pools, goredis.NewPool(client))
	}
	all := redsync.New(pools...)
	serve(func(name string) lock {
		mutex := all.NewMutex(name, redsync.WithExpiry(30*time.Second), redsync.WithTries(math.MaxInt32))
		return func() func() {
			check(mutex.Lock())
			return func() {
				_, err := mutex.Unlock()
				check(err)
			}
		}
	})
}
