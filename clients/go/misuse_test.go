package elapse_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"elapse"
	"elapse/elapsetest"
)

// What a user may do wrong gets an error that says so, at once, and nothing hangs, is lost or half done.

func TestOpenRefuses(t *testing.T) {
	for _, config := range []elapse.Config{
		{Addresses: []string{"127.0.0.1"}}, {Addresses: []string{"::1"}}, {Addresses: []string{"redis://127.0.0.1:1"}},
		{Addresses: []string{" "}}, {RetryFor: -1}, {RetryFor: 10 * time.Minute}, {MaxConnections: -1},
	} {
		_, err := elapse.Open(config)
		isError(t, err, elapse.ErrInvalid)
	}
	for _, address := range []string{"127.0.0.1:1", "[::1]:1", "unix:/run/elapse"} {
		must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{address}})).Close()
	}
}

func TestCallsRefuse(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	put := func(tube string, body any, options ...elapse.PutOption) error {
		_, err := client.Put(background, tube, body, options...)
		return err
	}
	for _, err := range []error{
		put("t", make([]byte, 70_000)), put("t", make([]byte, 64<<20)), put("", "b"), put("t", "b", elapse.Key("")),
		put("t", "b", elapse.TTR(0)), put("t", "b", elapse.TTR(-time.Second)), put("t", make(chan int)), put("t", "b", elapse.Every(-1)),
		put("t", "b", elapse.Headers(map[string]string{"a": strings.Repeat("x", 5000)})), put("t", "b", elapse.In(1), elapse.At(time.Now())),
	} {
		isError(t, err, elapse.ErrInvalid)
	}
	pieces := []*elapse.Request{elapse.Put("t", "b")}
	for _, pieces := range [][]*elapse.Request{nil, {nil}, {elapse.Cancel("t", "k")}} {
		_, err := client.Gather(background, "t", "b", time.Hour, pieces)
		isError(t, err, elapse.ErrInvalid)
	}
	_, err := client.Gather(background, "t", "b", time.Hour, pieces, elapse.Key("\xff"))
	isError(t, err, elapse.ErrInvalid)
	_, err = client.Gather(background, "\xff", "b", time.Hour, pieces)
	isError(t, err, elapse.ErrInvalid)
	_, err = client.Transaction(background, nil)
	isError(t, err, elapse.ErrInvalid)
	if must[*elapse.Stats](t)(client.Stats(background, "t")) != nil {
		t.Fatal("something was stored")
	}

	// Nothing of many is nothing.
	equal(t, len(must[[]elapse.Outcome](t)(client.CancelMany(background, "t"))), 0)
	equal(t, len(must[[]elapse.PutResult](t)(client.PutMany(background))), 0)
	equal(t, len(must[[]elapse.Result](t)(client.Transaction(background))), 0)

	// A key is any bytes.
	works(t, put("bytes", "x", elapse.Key("\xff\x00"), elapse.In(time.Hour)))
	equal(t, must[elapse.Outcome](t)(client.Cancel(background, "bytes", "\xff\x00")), elapse.Removed)
}

func TestWorkerRefusesMore(t *testing.T) {
	server := elapsetest.Start(t)
	client := server.Client(t)
	handler := func(context.Context, *elapse.Job[string]) error { return nil }
	for _, config := range []elapse.WorkerConfig{{TimeLimit: -1}, {ShutdownLimit: -1}, {Concurrency: -1}} {
		worker := elapse.NewWorker(client, config)
		elapse.Handle(worker, "a", handler)
		isError(t, worker.Run(background), elapse.ErrInvalid)
	}
	worker := elapse.NewWorker(client, elapse.WorkerConfig{})
	elapse.Handle(worker, "a", handler)
	elapse.Handle(worker, "a", handler)
	isError(t, worker.Run(background), elapse.ErrInvalid)

	// With a client that was closed the worker ends, and does not take the job.
	other := server.Client(t)
	other.Close()
	other.Close()
	id := put(t, client, "a", "x")
	worker = elapse.NewWorker(other, elapse.WorkerConfig{Logger: quiet{}})
	elapse.Handle(worker, "a", handler)
	isError(t, worker.Run(background), elapse.ErrInvalid)
	equal(t, state(t, client, id).State, elapse.StateReady)
	_, err := other.Put(background, "a", "x")
	isError(t, err, elapse.ErrInvalid)
}

// A handler may have computed a time that has passed: the job is due now, and does not wait for the end of its lease.
func TestRetryInThePast(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	var calls atomic.Int64
	r := start(t, client, elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, "past", func(context.Context, *elapse.Job[string]) error {
			switch calls.Add(1) {
			case 2:
				return elapse.Snooze(-time.Hour)
			case 3:
				return nil
			}
			return elapse.RetryIn(-time.Hour, nil)
		})
	})
	put(t, client, "past", "retry", elapse.Backoff(0, 0))
	endings := map[elapse.Ending]int{} // the next hand-out may end before the one before is told
	for range make([]int, 3) {
		endings[next(t, r.endings)]++
	}
	equal(t, endings[elapse.EndFailed], 2)
	equal(t, endings[elapse.EndDone], 1)
	r.finish(t)
}

func TestTwoWorkersShareATube(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	var requests []*elapse.Request
	for range make([]int, 200) {
		requests = append(requests, elapse.Put("shared", "x"))
	}
	must[[]elapse.PutResult](t)(client.PutMany(background, requests...))
	var mutex sync.Mutex
	seen := map[int64]int{}
	all := make(chan bool, 1)
	handle := func(w *elapse.Worker) {
		elapse.Handle(w, "shared", func(_ context.Context, job *elapse.Job[string]) error {
			mutex.Lock()
			defer mutex.Unlock()
			if seen[job.ID]++; len(seen) == 200 && seen[job.ID] == 1 {
				all <- true
			}
			return nil
		})
	}
	first, second := start(t, client, elapse.WorkerConfig{}, handle), start(t, client, elapse.WorkerConfig{}, handle)
	next(t, all)
	first.finish(t)
	second.finish(t)
	for _, times := range seen {
		equal(t, times, 1)
	}
}

// It runs in parallel with tests none of which handles signals.
func TestSecondSignalEndsTheWait(t *testing.T) {
	t.Parallel()
	client := elapsetest.Start(t).Client(t)
	begun, ended := make(chan bool, 1), make(chan error, 1)
	worker := elapse.NewWorker(client, elapse.WorkerConfig{ShutdownLimit: 100 * time.Hour, Logger: quiet{}})
	elapse.Handle(worker, "slow", func(ctx context.Context, _ *elapse.Job[string]) error {
		begun <- true
		<-ctx.Done()
		return ctx.Err()
	})
	go func() { ended <- worker.RunUntilSignal(background) }()
	id := put(t, client, "slow", "x")
	next(t, begun)
	works(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
	select {
	case err := <-ended:
		t.Fatalf("it ended while a handler ran: %v", err)
	case <-time.After(1500 * time.Millisecond):
	}
	works(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
	works(t, next(t, ended))
	equal(t, state(t, client, id).State, elapse.StateReady)
}
