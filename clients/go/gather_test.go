package elapse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"elapse"
	"elapse/elapsetest"
)

// arrive returns how many are missing; -1: no job waits.
func arrive(t testing.TB, client *elapse.Client, tube, key string, count uint32, options ...elapse.PutOption) int64 {
	t.Helper()
	missing, waits, err := client.Arrive(background, tube, key, count, options...)
	works(t, err)
	if !waits {
		return -1
	}
	return missing
}

// missing returns what a job that waits misses.
func missing(t testing.TB, client *elapse.Client, tube, key string) int64 {
	t.Helper()
	return must[*elapse.JobState](t)(client.Lookup(background, tube, key)).Missing
}

func TestArrivals(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	for _, outcome := range []elapse.Outcome{elapse.Scheduled, elapse.Kept} {
		result := must[elapse.PutResult](t)(client.Put(background, "a", "x", elapse.Key("k"), elapse.Await(5)))
		equal(t, result.Outcome, outcome)
	}
	info := must[*elapse.JobState](t)(client.Lookup(background, "a", "k"))
	equal(t, info.Missing, 5)
	equal(t, info.Due.IsZero(), true)
	equal(t, arrive(t, client, "a", "k", 2), 3)
	for range [2]int{} {
		equal(t, arrive(t, client, "a", "k", 1, elapse.Token("one")), 2)
	}
	results := must[[]elapse.Result](t)(client.Transaction(background, elapse.Arrive("a", "k", 1), elapse.Arrive("a", "no", 1)))
	equal(t, results[0].Missing, 1)
	equal(t, results[1].Outcome, elapse.Gone)
	equal(t, arrive(t, client, "a", "k", 7), 0)
	equal(t, arrive(t, client, "a", "k", 1), -1)
	equal(t, arrive(t, client, "a", "k", 1, elapse.TokenFor("one", time.Minute)), 0)
	_, _, err := client.Arrive(background, "a", "k", 1, elapse.In(time.Hour))
	isError(t, err, elapse.ErrInvalid)
	_, err = client.Put(background, "a", "x", elapse.Await(1)) // it needs a key
	isError(t, err, elapse.ErrInvalid)
}

func TestTenPiecesOfWhichOneIsLost(t *testing.T) {
	server := elapsetest.Start(t)
	client := server.Client(t)
	var pieces []*elapse.Request
	for i := 0; i < 10; i++ {
		pieces = append(pieces, elapse.Put("part", fmt.Sprint(i), elapse.Backoff(0, 0), elapse.Headers(map[string]string{"a": "b"})))
	}
	results := must[[]elapse.PutResult](t)(client.Gather(background, "whole", "all", time.Hour, pieces, elapse.Key("all")))
	equal(t, len(results), 11)
	_, err := client.Gather(background, "whole", "all", time.Hour, pieces, elapse.Key("all"))
	isError(t, err, elapse.ErrBusyKey)
	for _, wrong := range []func() ([]elapse.PutResult, error){
		func() ([]elapse.PutResult, error) { return client.Gather(background, "whole", "x", time.Hour, nil) },
		func() ([]elapse.PutResult, error) {
			return client.Gather(background, "whole", "x", time.Hour, pieces, elapse.In(time.Second))
		},
		func() ([]elapse.PutResult, error) {
			return client.Gather(background, "whole", "x", time.Hour, []*elapse.Request{elapse.Cancel("t", "k")})
		},
	} {
		_, err := wrong()
		isError(t, err, elapse.ErrInvalid)
	}
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "part")).Ready, 10)
	whole := make(chan int64, 1)
	lost := make(chan *elapse.JobInfo, 1)
	r := start(t, client, elapse.WorkerConfig{Concurrency: 4}, func(w *elapse.Worker) {
		elapse.Handle(w, "part", func(ctx context.Context, job *elapse.Job[string]) error {
			switch {
			case job.Body == "3":
				lost <- job.JobInfo
				return elapse.Bury("it is lost")
			case job.Body == "4" && job.Attempt == 1:
				return errors.New("it is done the second time")
			case job.Body == "5":
				results, err := job.Done(ctx, elapse.Put("after", "5")) // arrives, too
				equal(t, len(results), 1)
				return err
			}
			return nil
		})
		elapse.Handle(w, "whole", func(ctx context.Context, job *elapse.Job[string]) error {
			whole <- job.Missing
			return nil
		})
	})
	for range [11]int{} { // nine are done, one of them the second time, and one is buried
		next(t, r.endings)
	}
	equal(t, missing(t, client, "whole", "all"), 1)
	headers := next(t, lost).Headers
	equal(t, fmt.Sprint(headers), "map[a:b elapse-gather-key:all elapse-gather-tube:whole]")
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "after")).Ready, 1)
	server.Advance(t, time.Hour)
	equal(t, next(t, whole), 1)
	r.finish(t)
}

// In a transaction a key that is taken stops nothing: the pieces would be put, and counted for the job that has it.
func TestGatherInATransactionTakesNoKey(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	pieces := []*elapse.Request{elapse.Put("part", "1"), elapse.Put("part", "2")}
	must[[]elapse.PutResult](t)(client.Gather(background, "whole", "first", time.Hour, pieces[:1], elapse.Key("order-7")))
	refused := func() []*elapse.Request {
		return elapse.Gather("whole", "second", time.Hour, pieces, elapse.Key("order-7"))
	}
	_, err := client.Transaction(background, refused()...)
	isError(t, err, elapse.ErrInvalid)
	_, err = client.PutMany(background, refused()...)
	isError(t, err, elapse.ErrInvalid)
	r := start(t, client, elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, "order", func(ctx context.Context, job *elapse.Job[string]) error {
			_, err := job.Done(ctx, refused()...)
			isError(t, err, elapse.ErrInvalid)
			_, err = job.Done(ctx, elapse.Gather("whole", "third", time.Hour, pieces)...)
			return err
		})
	})
	put(t, client, "order", "x")
	equal(t, next(t, r.endings), elapse.EndDone)
	r.finish(t)
	equal(t, missing(t, client, "whole", "order-7"), 1)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "whole")).Delayed, 2)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "part")).Ready, 3)
}

// lossyWay is a way to a server that can lose one answer: the command is done, and the connection ends. It
// returns the address and what lets it lose the next answer.
func lossyWay(t *testing.T, address string) (string, *atomic.Bool) {
	t.Helper()
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	loses := new(atomic.Bool)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", address)
			if err != nil {
				near.Close()
				continue
			}
			go func() {
				defer far.Close()
				_, _ = io.Copy(far, near)
			}()
			go func() {
				defer near.Close()
				answer := make([]byte, 1<<16)
				for {
					size, err := far.Read(answer)
					if err != nil || loses.CompareAndSwap(true, false) {
						return
					}
					if _, err := near.Write(answer[:size]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String(), loses
}

func TestLostAnswersCountOnce(t *testing.T) {
	server := elapsetest.Start(t)
	client := server.Client(t)
	address, loses := lossyWay(t, server.Address)
	lossy := open(t, address)
	works(t, lossy.Ping(background))
	pieces := []*elapse.Request{elapse.Put("one", "x")}
	for i := 1; i < 6; i++ {
		pieces = append(pieces, elapse.Put("part", fmt.Sprint(i)))
	}
	lose := func(call func()) {
		t.Helper()
		loses.Store(true)
		call()
		equal(t, loses.Load(), false)
	}
	lose(func() {
		must[[]elapse.PutResult](t)(lossy.Gather(background, "whole", "all", time.Hour, pieces, elapse.Key("all")))
	})
	equal(t, missing(t, client, "whole", "all"), 6)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "part")).Ready, 5)
	lose(func() { equal(t, arrive(t, lossy, "whole", "all", 1), 5) })
	lose(func() {
		must[[]elapse.Result](t)(lossy.Transaction(background, elapse.Arrive("whole", "all", 1), elapse.Put("next", "x")))
	})
	equal(t, missing(t, client, "whole", "all"), 4)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "next")).Ready, 1)
	// A worker with one place has no RESERVE on its way while its handler runs.
	causes := make(chan error, 1)
	r := start(t, lossy, elapse.WorkerConfig{Concurrency: 1}, func(w *elapse.Worker) {
		elapse.Handle(w, "one", func(ctx context.Context, job *elapse.Job[string]) error {
			loses.Store(true)
			_, err := job.Done(ctx)
			causes <- err
			return err
		})
	})
	isError(t, next(t, causes), elapse.ErrUncertain)
	equal(t, next(t, r.endings), elapse.EndLost)
	r.finish(t)
	equal(t, missing(t, client, "whole", "all"), 3)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "")).TotalDone, 1)
}

// A gather with a piece that cannot be written puts nothing.
func TestGatherWithAPieceThatCannotBeWritten(t *testing.T) {
	s := &script{answers: map[string][]string{}}
	client := open(t, fakeServer(t, func(words []string) string { s.answer(words); return array(":1\r\n", "+scheduled\r\n") }))
	results, err := client.Gather(background, "t", "x", time.Hour, []*elapse.Request{elapse.Put("p", "x"), elapse.Put("p", make(chan int))})
	isError(t, err, elapse.ErrInvalid)
	equal(t, len(results), 0)
	equal(t, s.all(), "")
}
