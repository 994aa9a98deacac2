package main

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// splitmix64, by Sebastiano Vigna.
type generator struct{ state uint64 }

const seed = 12345

func (g *generator) draw() uint64 {
	g.state += 0x9e3779b97f4a7c15
	mixed := g.state
	mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
	return mixed ^ mixed>>31
}

// Returns a random number in [0, bound).
func (g *generator) below(bound uint64) uint64 {
	high, _ := bits.Mul64(g.draw(), bound)
	return high
}

var epoch = time.Now()

// The monotonic clock, from the start of the program.
func clockNs() int64 { return int64(time.Since(epoch)) }

// Processor time of the whole process, user and system.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// What is in the heap of the runtime once all that is dead has left it.
func liveHeap() runtime.MemStats {
	var statistics runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&statistics)
	return statistics
}

func heapBytes() int64    { return int64(liveHeap().HeapAlloc) }
func heapObjects() uint64 { return liveHeap().HeapObjects }

// A number in a file like /proc/self/status.
func statusNumber(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		field, rest, _ := strings.Cut(line, ":")
		if words := strings.Fields(rest); field == name && len(words) > 0 {
			return strconv.ParseInt(words[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s: no %s", file, name)
}

func residentBytes() (int64, error) {
	kilobytes, err := statusNumber("/proc/self/status", "VmRSS")
	return kilobytes * 1024, err
}

// How often each thread of the process gave up its processor, by the thread's number.
func voluntarySwitches() (map[string]int64, error) {
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		return nil, err
	}
	switches := make(map[string]int64, len(threads))
	for _, thread := range threads {
		count, err := statusNumber(thread, "voluntary_ctxt_switches")
		if os.IsNotExist(err) {
			continue // ended in between
		}
		if err != nil {
			return nil, err
		}
		switches[thread] = count
	}
	return switches, nil
}

// The sum over all threads that there are now.
func switchesSince(before, now map[string]int64) (sum int64) {
	for thread, count := range now {
		sum += count - before[thread]
	}
	return sum
}
