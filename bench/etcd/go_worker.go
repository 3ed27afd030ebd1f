// go_worker URL: the Mutex of etcd's Go package `concurrency` as a worker of the benchmark; obeys
// the lines of ../common/worker.h.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

type pass struct{ asked, got, released int64 }

type worker struct {
	session *concurrency.Session
	over    int32
	passes  chan []pass
}

func check(err error) {
	if err != nil {
		fmt.Printf("failed: %v\n", err)
		os.Exit(1)
	}
}

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	check(err)
	return value
}

// CLOCK_MONOTONIC. Go's own has no meaning outside of the process.
func nowNs() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func (w *worker) pairs(name string, seconds float64) string {
	mutex := concurrency.NewMutex(w.session, name)
	begin := nowNs()
	end := begin + int64(seconds*1e9)
	var times []int64
	for before := begin; before < end; {
		check(mutex.Lock(context.Background()))
		check(mutex.Unlock(context.Background()))
		after := nowNs()
		times = append(times, after-before)
		before = after
	}
	rate := float64(len(times)) / (float64(nowNs()-begin) / 1e9)
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	return fmt.Sprintf("%.1f %.2f", rate, float64(times[len(times)/2])/1e3)
}

func (w *worker) sleep(us float64) {
	if us > 0 && atomic.LoadInt32(&w.over) == 0 {
		time.Sleep(time.Duration(us * 1e3))
	}
}

func (w *worker) contend(name string, holdUs float64, pauseUs float64) string {
	mutex := concurrency.NewMutex(w.session, name)
	atomic.StoreInt32(&w.over, 0)
	w.passes = make(chan []pass, 1)
	go func() {
		var passes []pass
		for atomic.LoadInt32(&w.over) == 0 {
			asked := nowNs()
			check(mutex.Lock(context.Background()))
			got := nowNs()
			w.sleep(holdUs)
			released := nowNs()
			check(mutex.Unlock(context.Background()))
			passes = append(passes, pass{asked, got, released})
			w.sleep(pauseUs)
		}
		w.passes <- passes
	}()
	return "ok"
}

func (w *worker) stop() string {
	atomic.StoreInt32(&w.over, 1)
	passes := <-w.passes
	var text strings.Builder
	fmt.Fprintf(&text, "%d", len(passes))
	for _, each := range passes {
		fmt.Fprintf(&text, " 0 %d %d %d", each.asked, each.got, each.released)
	}
	return text.String()
}

func (w *worker) obey(words []string) string {
	switch words[0] {
	case "pairs":
		return w.pairs(words[1], number(words[2]))
	case "contend":
		return w.contend(words[1], number(words[3]), number(words[4]))
	case "stop":
		return w.stop()
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
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
	check(err)
	w := &worker{session: session}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(w.obey(strings.Fields(lines.Text())))
	}
	session.Close()
}
