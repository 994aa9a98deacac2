// The timers of the Go runtime in the race of bench/runtimes: time.AfterFunc, Timer.Stop and
// Timer.Reset.
//
// They are used as the manual of package time says. AfterFunc runs its function in a new
// goroutine. Stop and Reset return whether the timer was still pending. All far timers share one
// plain function; a timer that comes due has a closure that knows its deadline.
//
// Semantics that differ:
//   - There is no facility to create or to close. The timers lie in one heap for each processor of
//     the runtime. So a fresh facility means here that all timers of the round before are stopped
//     and that their memory has been freed. The arrays of the heaps keep their length.
//   - Stop only marks a timer. The timer leaves its heap when it comes to the top, or when a quarter
//     of the heap is marked and the processor looks for work. So unlinks is 0. That moment cannot
//     be observed, so cascaded_ns is cancel_ns.
//   - A timer is never early. It keeps nanoseconds, and there is no tick, so --tick-us does nothing.
//   - A "thread" is a goroutine.
//   - The garbage collector has its default setting (GOGC=100), and its work is measured, too.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const (
	exitFailed  = 1 // a check did not hold
	exitUsage   = 2
	exitCannot  = 3 // the contender cannot do this
	timersMost  = 100000000
	threadsMost = 64
	roundsMost  = 1000
	secondsMost = 1000
)

type options struct {
	workload     string
	timers       int
	threads      int
	rounds       int
	seconds      float64
	tickUs       int
	latenessFile string
}

// cannot is what a workload returns that this contender has no means to run.
type cannot struct{ why string }

func (c cannot) Error() string { return c.why }

func parseOptions(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("go", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.workload, "workload", "", "S1 to S6")
	flags.IntVar(&o.timers, "timers", 1000000, "how many")
	flags.IntVar(&o.threads, "threads", 1, "that schedule, in S1")
	flags.IntVar(&o.rounds, "rounds", 5, "reported, of S1, S2 and S6")
	flags.Float64Var(&o.seconds, "seconds", 5, "that S3, S4 and S6 last")
	flags.IntVar(&o.tickUs, "tick-us", 1000, "not used")
	flags.StringVar(&o.latenessFile, "lateness", "", "file for the histogram of S3")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	return o, o.check(flags.Args())
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument: %s", rest[0])
	case workloads[o.workload] == nil:
		return fmt.Errorf("--workload: S1 to S6, not %q", o.workload)
	case o.timers < 1 || o.timers > timersMost:
		return fmt.Errorf("--timers: 1 to %d, not %d", timersMost, o.timers)
	case o.threads < 1 || o.threads > threadsMost || o.threads > o.timers:
		return fmt.Errorf("--threads: 1 to %d and no more than timers, not %d",
			threadsMost, o.threads)
	case o.rounds < 1 || o.rounds > roundsMost:
		return fmt.Errorf("--rounds: 1 to %d, not %d", roundsMost, o.rounds)
	case !(o.seconds > 0 && o.seconds <= secondsMost):
		return fmt.Errorf("--seconds: above 0 and up to %d, not %g", secondsMost, o.seconds)
	case o.tickUs < 1:
		return fmt.Errorf("--tick-us: 1 or more, not %d", o.tickUs)
	}
	return nil
}

func main() {
	o, err := parseOptions(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(exitUsage)
	}
	if o.threads > 1 && o.workload != "S1" {
		err = cannot{"one thread alone does all of it; --threads is for S1"}
	} else {
		err = workloads[o.workload](o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "go: %s: %v\n", o.workload, err)
		if errors.As(err, new(cannot)) {
			os.Exit(exitCannot)
		}
		os.Exit(exitFailed)
	}
}
