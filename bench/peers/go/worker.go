// Shared by the workers in Go: the lines of ../../common/worker.h.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// A lock of one goroutine: acquire returns what releases it.
type lock func() (release func())

type pass struct {
	thread               int
	asked, got, released int64
}

type worker struct {
	make       func(name string) lock
	over       atomic.Bool
	contenders sync.WaitGroup
	mutex      sync.Mutex
	passes     []pass
}

func check(err error) {
	if err != nil {
		fmt.Printf("failed: %v\n", strings.Split(err.Error(), "\n")[0])
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
	acquire := w.make(name)
	begin := nowNs()
	end := begin + int64(seconds*1e9)
	var times []int64
	for before := begin; before < end; {
		acquire()()
		after := nowNs()
		times = append(times, after-before)
		before = after
	}
	rate := float64(len(times)) / (float64(nowNs()-begin) / 1e9)
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	return fmt.Sprintf("%.1f %.2f", rate, float64(times[len(times)/2])/1e3)
}

func (w *worker) threads(count int, seconds float64) string {
	var done atomic.Int64
	var working sync.WaitGroup
	w.over.Store(false)
	for i := 0; i < count; i++ {
		working.Add(1)
		go func(acquire lock) {
			defer working.Done()
			for !w.over.Load() {
				acquire()()
				done.Add(1)
			}
		}(w.make(fmt.Sprintf("flight-%d", i)))
	}
	time.Sleep(time.Duration(seconds / 5 * 1e9))
	before, begin := done.Load(), nowNs()
	time.Sleep(time.Duration(seconds * 1e9))
	rate := float64(done.Load()-before) / (float64(nowNs()-begin) / 1e9)
	w.over.Store(true)
	working.Wait()
	return fmt.Sprintf("%.1f", rate)
}

func (w *worker) sleep(us float64) {
	if us > 0 && !w.over.Load() {
		time.Sleep(time.Duration(us * 1e3))
	}
}

func (w *worker) contend(name string, count int, holdUs float64, pauseUs float64) string {
	w.over.Store(false)
	w.passes = nil
	for i := 0; i < count; i++ {
		w.contenders.Add(1)
		go func(number int, acquire lock) {
			defer w.contenders.Done()
			var passes []pass
			for !w.over.Load() {
				asked := nowNs()
				release := acquire()
				got := nowNs()
				w.sleep(holdUs)
				released := nowNs()
				release()
				passes = append(passes, pass{number, asked, got, released})
				w.sleep(pauseUs)
			}
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.passes = append(w.passes, passes...)
		}(i, w.make(name))
	}
	return "ok"
}

func (w *worker) stop() string {
	w.over.Store(true)
	w.contenders.Wait()
	var text strings.Builder
	fmt.Fprintf(&text, "%d", len(w.passes))
	for _, each := range w.passes {
		fmt.Fprintf(&text, " %d %d %d %d", each.thread, each.asked, each.got, each.released)
	}
	return text.String()
}

func (w *worker) obey(words []string) string {
	switch words[0] {
	case "pairs":
		return w.pairs(words[1], number(words[2]))
	case "threads", "flight":
		return w.threads(int(number(words[1])), number(words[2]))
	case "contend":
		return w.contend(words[1], int(number(words[2])), number(words[3]), number(words[4]))
	case "stop":
		return w.stop()
	}
	return "what?"
}

// "redis://a:1,b:2" -> [a:1 b:2]
func hosts(url string) []string {
	return strings.Split(strings.SplitN(url, "://", 2)[1], ",")
}

func serve(make func(name string) lock) {
	w := &worker{make: make}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(w.obey(strings.Fields(lines.Text())))
	}
}
