// The program go_elapse ADDRESS one|hundred|work COUNT: one measure of race.py with the package for Go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"elapse"
)

type mail struct{ To string }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	address, what, count := os.Args[1], os.Args[2], must(strconv.Atoi(os.Args[3]))
	ctx := context.Background()
	client := must(elapse.Open(elapse.Config{Addresses: []string{address}}))
	body := mail{"ann@example.org"}
	must(client.Put(ctx, "warm", body))
	begun := time.Now()
	if what == "one" {
		for number := 0; number < count; number++ {
			must(client.Put(ctx, "jobs", body))
		}
	} else {
		for number := 0; number < count; number += 100 {
			some := make([]*elapse.Request, 100)
			for place := range some {
				some[place] = elapse.Put("jobs", body)
			}
			must(client.PutMany(ctx, some...))
		}
	}
	took := time.Since(begun)
	if what == "work" {
		took = work(ctx, client, int64(count))
	}
	stats := must(client.Stats(ctx, ""))
	done := stats.TotalPut - 1 // without the first one
	if what == "work" {
		done = stats.TotalDone
	}
	fmt.Printf("{\"seconds\": %f, \"count\": %d}\n", took.Seconds(), done)
}

// work handles all jobs, and returns the time from the first handler to the last acknowledgement.
func work(ctx context.Context, client *elapse.Client, count int64) time.Duration {
	var begun, done atomic.Int64
	var took time.Duration
	start := time.Now()
	ctx, stop := context.WithCancel(ctx)
	worker := elapse.NewWorker(client, elapse.WorkerConfig{Concurrency: 100, After: func(*elapse.JobInfo, elapse.Ending) {
		if done.Add(1) == count {
			took = time.Since(start) - time.Duration(begun.Load())
			stop()
		}
	}})
	elapse.Handle(worker, "jobs", func(context.Context, *elapse.Job[mail]) error {
		begun.CompareAndSwap(0, int64(time.Since(start)))
		return nil
	})
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	return took
}
