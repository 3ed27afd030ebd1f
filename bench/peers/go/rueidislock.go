// rueidislock URL: rueidislock as a worker, on one Redis (majority of one).
package main

import (
	"context"
	"os"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: hosts(os.Args[1])},
		KeyMajority:  1,
		KeyValidity:  30 * time.Second,
	})
	check(err)
	serve(func(name string) lock {
		return func() func() {
			_, release, err := locker.WithContext(context.Background(), name)
			check(err)
			return release
		}
	})
}
