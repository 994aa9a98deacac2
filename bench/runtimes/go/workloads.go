package main

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	farDelay          = 1800 * time.Second
	farSpan           = 60 * time.Second
	rescheduleTimers  = 100000
	rescheduleDelay   = 60 * time.Second
	reschedulesMost   = 5000000
	reschedulesAtOnce = 1000 // between two looks at the clock
	cascading          = 2 * time.Second
	objectsMore       = 1000                   // objects that the runtime itself may create in a round
	grace             = 100 * time.Millisecond // to see timers that fire twice
	patience          = 60 * time.Second       // for timers that are late
)

var workloads map[string]func(options) error

func init() {
	workloads = map[string]func(options) error{
		"S1": runSchedule,
		"S2": runCancel,
		"S3": runDeliver,
		"S4": runIdle,
		"S5": runMemory,
		"S6": runReschedule,
	}
}

// Far timers that ran, of which there may be none.
var farRan atomic.Int64

// What a far timer does: it carries the number of what it is for, as a timer of a real program does.
func neverRun(number int) func() {
	return func() { farRan.Add(int64(number) + 1) }
}

func checkCount(what string, count, expected int64) error {
	if count != expected {
		return fmt.Errorf("%s: %d, not %d", what, count, expected)
	}
	return nil
}

func farDelayOf(g *generator) time.Duration {
	return farDelay + time.Duration(g.below(uint64(farSpan)))
}

func scheduleFar(g *generator, handles []*time.Timer) {
	for i := range handles {
		handles[i] = time.AfterFunc(farDelayOf(g), neverRun(i))
	}
}

func stopAll(handles []*time.Timer) (stopped int64) {
	for _, handle := range handles {
		if handle.Stop() {
			stopped++
		}
	}
	return stopped
}

// Runs the workload once more than it is to be reported; the first round is a warm-up. After each,
// nothing of its timers may be left in memory.
func inRounds(rounds int, round func(reported bool) error) error {
	before := heapObjects()
	for i := 0; i <= rounds; i++ {
		if err := round(i > 0); err != nil {
			return err
		}
		if err := checkCount("far timers that ran", farRan.Load(), 0); err != nil {
			return err
		}
		if err := awaitFreed(before); err != nil {
			return err
		}
	}
	return nil
}

// Waits until the stopped timers have left their heaps and memory, which each processor of the
// runtime sees to for its own heap when it looks for work.
func awaitFreed(before uint64) error {
	const attempts = 50
	for i := 0; i < attempts; i++ {
		var busy sync.WaitGroup
		until := time.Now().Add(2 * time.Millisecond)
		for p := 0; p < runtime.GOMAXPROCS(0); p++ {
			busy.Add(1)
			go func() {
				defer busy.Done()
				for time.Now().Before(until) {
					runtime.Gosched()
				}
			}()
		}
		busy.Wait()
		if heapObjects() < before+objectsMore {
			return nil
		}
	}
	return fmt.Errorf("%d objects are left of stopped timers", heapObjects()-before)
}

// ---- S1 ----

// One of the goroutines that schedule at the same time.
type filler struct {
	handles []*time.Timer
	random  generator
	began   int64
	ended   int64
}

func newFillers(threads int, handles []*time.Timer) []filler {
	fillers := make([]filler, threads)
	for i := range fillers {
		share := len(handles) / (threads - i)
		fillers[i] = filler{handles: handles[:share], random: generator{seed + uint64(i)}}
		handles = handles[share:]
	}
	return fillers
}

// The ns of wall time from the first to begin to the last to end.
func fill(fillers []filler) int64 {
	var ready, ended sync.WaitGroup
	start := make(chan struct{})
	ready.Add(len(fillers))
	ended.Add(len(fillers))
	for i := range fillers {
		go func(f *filler) {
			defer ended.Done()
			ready.Done()
			<-start
			f.began = clockNs()
			scheduleFar(&f.random, f.handles)
			f.ended = clockNs()
		}(&fillers[i])
	}
	ready.Wait()
	close(start)
	ended.Wait()
	began, last := int64(math.MaxInt64), int64(0)
	for i := range fillers {
		if fillers[i].began < began {
			began = fillers[i].began
		}
		if fillers[i].ended > last {
			last = fillers[i].ended
		}
	}
	return last - began
}

func runSchedule(o options) error {
	return inRounds(o.rounds, func(reported bool) error {
		handles := make([]*time.Timer, o.timers)
		spentNs := fill(newFillers(o.threads, handles))
		if reported {
			report("schedule_ns", float64(spentNs)/float64(o.timers))
			report("cascaded_ns", float64(spentNs)/float64(o.timers))
		}
		return checkCount("timers pending", stopAll(handles), int64(o.timers))
	})
}

// ---- S2 ----

func runCancel(o options) error {
	return inRounds(o.rounds, func(reported bool) error {
		random := generator{seed}
		handles := make([]*time.Timer, o.timers)
		scheduleFar(&random, handles)
		for left := len(handles); left > 1; left-- {
			chosen := random.below(uint64(left))
			handles[left-1], handles[chosen] = handles[chosen], handles[left-1]
		}
		began := clockNs()
		stopped := stopAll(handles)
		cancelNs := float64(clockNs()-began) / float64(o.timers)
		if reported {
			report("cancel_ns", cancelNs)
			report("cascaded_ns", cancelNs)
			reportCount("unlinks", 0)
		}
		return checkCount("timers stopped", stopped, int64(o.timers))
	})
}

// ---- S3 ----

func runDeliver(o options) error {
	const unset = math.MinInt64
	random := generator{seed}
	span := uint64(o.seconds * 1e9)
	latenessNs := make([]int64, o.timers)
	for i := range latenessNs {
		latenessNs[i] = unset
	}
	var fired atomic.Int64
	done := make(chan struct{})
	runtime.GC()

	cpuBefore := cpuSeconds()
	began := clockNs()
	for i := range latenessNs {
		note := &latenessNs[i]
		delay := time.Duration(random.below(span))
		deadline := clockNs() + int64(delay)
		time.AfterFunc(delay, func() {
			*note = clockNs() - deadline
			if fired.Add(1) == int64(o.timers) {
				close(done)
			}
		})
	}
	select {
	case <-done:
	case <-time.After(time.Duration(span) + patience):
	}
	completion := float64(clockNs()-began) / 1e9
	cpu := cpuSeconds() - cpuBefore

	time.Sleep(grace)
	if err := checkCount("timers fired", fired.Load(), int64(o.timers)); err != nil {
		return err
	}
	for i, note := range latenessNs {
		if note == unset {
			return fmt.Errorf("timer %d never fired, but another twice", i)
		}
	}
	report("cpu_s", cpu)
	report("completion_s", completion)
	reportCount("fired", fired.Load())
	return reportLateness(latenessNs, o.latenessFile)
}

// ---- S4 ----

func runIdle(o options) error {
	random := generator{seed}
	handles := make([]*time.Timer, o.timers)
	scheduleFar(&random, handles)
	runtime.GC()
	time.Sleep(cascading)

	switches, err := voluntarySwitches()
	if err != nil {
		return err
	}
	cpu := cpuSeconds()
	time.Sleep(time.Duration(o.seconds * 1e9))
	cpu = cpuSeconds() - cpu
	switchesAfter, err := voluntarySwitches()
	if err != nil {
		return err
	}
	report("cpu_s", cpu)
	reportCount("switches", switchesSince(switches, switchesAfter))
	return checkCount("timers pending", stopAll(handles), int64(o.timers))
}

// ---- S5 ----

func runMemory(o options) error {
	random := generator{seed}
	handles := make([]*time.Timer, o.timers)
	for i := range handles {
		handles[i] = new(time.Timer) // so that every page is there
	}
	for i := range handles {
		handles[i] = nil
	}
	heapBefore := heapBytes()
	residentBefore, err := residentBytes()
	if err != nil {
		return err
	}
	scheduleFar(&random, handles)
	residentAfter, err := residentBytes()
	if err != nil {
		return err
	}
	heapAfter := heapBytes()
	report("task_bytes", float64(heapAfter-heapBefore)/float64(o.timers))
	report("resident_bytes", float64(residentAfter-residentBefore)/float64(o.timers))
	return checkCount("timers pending", stopAll(handles), int64(o.timers))
}

// ---- S6 ----

func runReschedule(o options) error {
	return inRounds(o.rounds, func(reported bool) error {
		random := generator{seed}
		mostNs := int64(o.seconds * 1e9)
		handles := make([]*time.Timer, rescheduleTimers)
		for i := range handles {
			handles[i] = time.AfterFunc(rescheduleDelay, neverRun(i))
		}
		var tries, moved int64
		began := clockNs()
		ended := began
		for ; tries < reschedulesMost && ended-began < mostNs; ended = clockNs() {
			for i := 0; i < reschedulesAtOnce; i++ {
				if handles[random.below(rescheduleTimers)].Reset(rescheduleDelay) {
					moved++
				}
			}
			tries += reschedulesAtOnce
		}
		if reported {
			report("reschedule_ns", float64(ended-began)/float64(tries))
			reportCount("resets", 1)
		}
		if err := checkCount("timers reset", moved, tries); err != nil {
			return err
		}
		return checkCount("timers pending", stopAll(handles), rescheduleTimers)
	})
}
