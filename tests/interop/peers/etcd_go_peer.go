// etcd_go_peer URL: the Mutex of etcd's Go package `concurrency`, driven by lines on stdin
// (../README.md has the list).
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

const (
	sectionsTTL = 6 * time.Second
	// Version 3.4 of the package has no TryLock: a lock that it has not got by then is busy.
	tryFor = 500 * time.Millisecond
)

type peer struct {
	client *clientv3.Client
	// By ttl in seconds, which is a lease's. All locks of a session share its lease.
	sessions map[int]*concurrency.Session
	held     *concurrency.Mutex
}

func seconds(ms string) int {
	value, err := strconv.Atoi(ms)
	check(err)
	return (value + 999) / 1000
}

func check(err error) {
	if err != nil {
		fmt.Printf("failed: %v\n", err)
		os.Exit(1)
	}
}

func (p *peer) session(ttl int) *concurrency.Session {
	if session, ok := p.sessions[ttl]; ok {
		select {
		case <-session.Done(): // expired: the next lock needs another
		default:
			return session
		}
	}
	session, err := concurrency.NewSession(p.client, concurrency.WithTTL(ttl))
	check(err)
	p.sessions[ttl] = session
	return session
}

func (p *peer) take(name string, ttlMs string, ctx context.Context) string {
	mutex := concurrency.NewMutex(p.session(seconds(ttlMs)), name)
	err := mutex.Lock(ctx)
	if err != nil && ctx.Err() != nil {
		return "busy"
	}
	check(err)
	p.held = mutex
	return "granted"
}

func (p *peer) try(name string, ttlMs string) string {
	ctx, cancel := context.WithTimeout(context.Background(), tryFor)
	defer cancel()
	return p.take(name, ttlMs, ctx)
}

func (p *peer) isThere() bool {
	answer, err := p.client.Txn(context.Background()).If(p.held.IsOwner()).Commit()
	check(err)
	return answer.Succeeded
}

func (p *peer) release() string {
	there := p.isThere()
	check(p.held.Unlock(context.Background()))
	if there {
		return "ok"
	}
	return "not_held"
}

func (p *peer) renew() string {
	if p.isThere() {
		return "ok"
	}
	return "not_held"
}

// How many hold it or wait for it, whoever they are.
func (p *peer) queue(name string) string {
	answer, err := p.client.Get(context.Background(), name+"/", clientv3.WithPrefix(),
		clientv3.WithCountOnly())
	check(err)
	return strconv.FormatInt(answer.Count, 10)
}

func (p *peer) sections(name string, file string, count string) string {
	mutex := concurrency.NewMutex(p.session(int(sectionsTTL/time.Second)), name)
	section := section{file: file, who: "g"}
	section.awaitGo()
	passes, err := strconv.Atoi(count)
	check(err)
	failures := 0
	for i := 0; i < passes; i++ {
		check(mutex.Lock(context.Background()))
		check(section.goThrough())
		if mutex.Unlock(context.Background()) != nil {
			failures++
		}
	}
	return fmt.Sprintf("done %d", failures)
}

func (p *peer) obey(words []string) string {
	switch words[0] {
	case "acquire":
		return p.take(words[1], words[2], context.Background())
	case "try":
		return p.try(words[1], words[2])
	case "release":
		return p.release()
	case "renew":
		return p.renew()
	case "queue":
		return p.queue(words[1])
	case "sections":
		return p.sections(words[1], words[2], words[3])
	}
	return "what?"
}

func main() {
	endpoints := strings.SplitN(os.Args[1], "://", 2)[1]
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(endpoints, ","),
		DialTimeout: 15 * time.Second,
	})
	check(err)
	p := &peer{client: client, sessions: map[int]*concurrency.Session{}}
	p.queue("ready?")
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(p.obey(strings.Fields(lines.Text())))
	}
	for _, session := range p.sessions {
		session.Close()
	}
}
