package elapse_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"elapse"
	"elapse/elapsetest"
)

// quiet is a logger that says nothing.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// running is a worker that runs, and the endings of its jobs.
type running struct {
	stop    context.CancelFunc
	ended   chan error
	endings chan elapse.Ending
}

func start(t testing.TB, client *elapse.Client, config elapse.WorkerConfig, handle func(*elapse.Worker)) *running {
	t.Helper()
	r := &running{ended: make(chan error, 1), endings: make(chan elapse.Ending, 100_000)}
	config.After = func(_ *elapse.JobInfo, ending elapse.Ending) { r.endings <- ending }
	config.Logger = quiet{}
	worker := elapse.NewWorker(client, config)
	handle(worker)
	ctx, stop := context.WithCancel(background)
	r.stop = stop
	go func() { r.ended <- worker.Run(ctx) }()
	t.Cleanup(stop)
	return r
}

func (r *running) finish(t testing.TB) {
	t.Helper()
	r.stop()
	works(t, <-r.ended)
}

// patient is how long a test waits for what is sure to come; no run comes near.
const patient = time.Minute

func next[T any](t testing.TB, channel <-chan T) T {
	t.Helper()
	select {
	case value := <-channel:
		return value
	case <-time.After(patient):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func put(t testing.TB, client *elapse.Client, tube string, body any, options ...elapse.PutOption) int64 {
	t.Helper()
	return must[elapse.PutResult](t)(client.Put(background, tube, body, options...)).ID
}

func state(t testing.TB, client *elapse.Client, id int64) *elapse.JobState {
	t.Helper()
	return must[*elapse.JobState](t)(client.LookupID(background, id))
}

func TestWorkerDoes(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	got := make(chan order, 1)
	seen := make(chan string, 1)
	type key struct{}
	r := start(t, client, elapse.WorkerConfig{Before: func(ctx context.Context, job *elapse.JobInfo) context.Context {
		return context.WithValue(ctx, key{}, job.Headers["who"])
	}}, func(w *elapse.Worker) {
		elapse.Handle(w, "orders", func(ctx context.Context, job *elapse.Job[order]) error {
			equal(t, job.Key, "4711")
			equal(t, job.Attempt, 1)
			equal(t, job.AttemptsLeft, 2)
			equal(t, job.TTR, 9*time.Second)
			works(t, job.Cause())
			seen <- ctx.Value(key{}).(string)
			got <- job.Body
			return nil
		})
		elapse.Handle(w, "count", func(context.Context, *elapse.Job[[]byte]) error { return nil })
	})
	id := put(t, client, "orders", order{"4711", 995}, elapse.Key("4711"), elapse.Attempts(3), elapse.TTR(9*time.Second),
		elapse.Headers(map[string]string{"who": "ann"}))
	equal(t, next(t, got), order{"4711", 995})
	equal(t, next(t, seen), "ann")
	equal(t, next(t, r.endings), elapse.EndDone)
	if state(t, client, id) != nil {
		t.Fatal("the job is still there")
	}
	put(t, client, "count", "x")
	equal(t, next(t, r.endings), elapse.EndDone)
	r.finish(t)
}

type oddError struct{}

func (oddError) Error() string { return "it is odd" }

func TestWorkerFails(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	failures := make(chan error, 10)
	config := elapse.WorkerConfig{OnFailure: func(_ context.Context, _ *elapse.JobInfo, err error) { failures <- err }}
	r := start(t, client, config, func(w *elapse.Worker) {
		elapse.Handle(w, "fail", func(_ context.Context, job *elapse.Job[string]) error {
			switch job.Body {
			case "plain":
				return errors.New("no route to host")
			case "odd":
				return oddError{}
			case "panic":
				panic("at the disco")
			case "later":
				return elapse.RetryIn(time.Hour, errors.New("busy"))
			case "snooze":
				return elapse.Snooze(time.Hour)
			}
			return elapse.Bury("hopeless")
		})
		elapse.Handle(w, "orders", func(context.Context, *elapse.Job[order]) error { return nil })
	})
	for _, expected := range []struct {
		tube, body, err string
		state           elapse.State
		attempts        int64
		ending          elapse.Ending
	}{
		{"fail", "plain", "no route to host", elapse.StateDelayed, 1, elapse.EndFailed},
		{"fail", "odd", "elapse_test.oddError: it is odd", elapse.StateDelayed, 1, elapse.EndFailed},
		{"fail", "panic", "panic: at the disco", elapse.StateDelayed, 1, elapse.EndFailed},
		{"fail", "later", "busy", elapse.StateDelayed, 1, elapse.EndFailed},
		{"fail", "snooze", "to be tried again in 1h0m0s", elapse.StateDelayed, 0, elapse.EndFailed},
		{"fail", "bury", "hopeless", elapse.StateBuried, 1, elapse.EndBuried},
		{"orders", "{", "the body cannot be read: unexpected end of JSON input", elapse.StateDelayed, 1, elapse.EndFailed},
	} {
		id := put(t, client, expected.tube, expected.body, elapse.Backoff(time.Hour, time.Hour))
		equal(t, next(t, r.endings), expected.ending)
		next(t, failures)
		job := state(t, client, id)
		equal(t, job.Error, expected.err)
		equal(t, job.State, expected.state)
		equal(t, job.Attempts, expected.attempts)
	}
	r.finish(t)
}

// The tests that wait for leases run in parallel: their leases are so long that a machine that stands still loses none.
func TestHandlerIsCancelled(t *testing.T) {
	t.Parallel()
	client := elapsetest.Start(t).Client(t)
	begun, causes := make(chan bool, 1), make(chan error, 1)
	r := start(t, client, elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, "long", func(ctx context.Context, job *elapse.Job[string]) error {
			begun <- true
			<-ctx.Done()
			causes <- job.Cause()
			return ctx.Err()
		})
	})
	put(t, client, "long", "x", elapse.Key("k"), elapse.TTR(6*time.Second))
	next(t, begun)
	equal(t, must[elapse.Outcome](t)(client.Cancel(background, "long", "k")), elapse.Running)
	isError(t, next(t, causes), elapse.ErrCancelled)
	equal(t, next(t, r.endings), elapse.EndCancelled)
	r.finish(t)
}

func TestHandlerOutlivesItsTTR(t *testing.T) {
	t.Parallel()
	client := elapsetest.Start(t).Client(t)
	calls := atomic.Int64{}
	r := start(t, client, elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, "long", func(ctx context.Context, _ *elapse.Job[string]) error {
			calls.Add(1)
			time.Sleep(8 * time.Second) // several EXTENDs
			return ctx.Err()
		})
	})
	for range make([]int, 5) {
		put(t, client, "long", "x", elapse.TTR(3300*time.Millisecond))
	}
	for range make([]int, 5) {
		equal(t, next(t, r.endings), elapse.EndDone)
	}
	equal(t, calls.Load(), 5)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "")).TotalTimeouts, 0)
	r.finish(t)
}

func TestHandlerHangs(t *testing.T) {
	t.Parallel()
	client := elapsetest.Start(t).Client(t)
	release := make(chan bool)
	attempts := make(chan int64, 10)
	r := start(t, client, elapse.WorkerConfig{TimeLimit: 200 * time.Millisecond, ShutdownLimit: 10 * time.Millisecond},
		func(w *elapse.Worker) {
			elapse.Handle(w, "hang", func(_ context.Context, job *elapse.Job[string]) error {
				attempts <- job.Attempt
				if job.Attempt == 1 {
					<-release // it does not look at its context
				}
				return nil
			})
		})
	put(t, client, "hang", "x", elapse.TTR(3*time.Second), elapse.Backoff(0, 0))
	equal(t, next(t, attempts), 1)
	equal(t, next(t, attempts), 2)
	equal(t, next(t, r.endings), elapse.EndDone)
	r.finish(t)
	close(release)
}

func TestLeaseIsLost(t *testing.T) {
	server := elapsetest.Start(t)
	client := server.Client(t)
	begun, causes := make(chan bool, 1), make(chan error, 1)
	r := start(t, client, elapse.WorkerConfig{Concurrency: 1}, func(w *elapse.Worker) {
		elapse.Handle(w, "long", func(ctx context.Context, job *elapse.Job[string]) error {
			begun <- true
			<-ctx.Done()
			causes <- job.Cause()
			_, err := job.Done(background, elapse.Put("next", "x"))
			isError(t, err, elapse.ErrLeaseLost)
			return err
		})
	})
	put(t, client, "long", "x", elapse.TTR(600*time.Millisecond), elapse.Backoff(time.Hour, time.Hour))
	next(t, begun)
	server.Advance(t, time.Second)
	isError(t, next(t, causes), elapse.ErrLeaseLost)
	equal(t, next(t, r.endings), elapse.EndLost)
	r.finish(t)
	if must[*elapse.Stats](t)(client.Stats(background, "next")) != nil {
		t.Fatal("a lost lease has put the next step")
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	client := elapsetest.Start(t).Client(t)
	begun := make(chan bool, 3)
	release := make(chan bool)
	r := start(t, client, elapse.WorkerConfig{Concurrency: 3, ShutdownLimit: 3 * time.Second}, func(w *elapse.Worker) {
		elapse.Handle(w, "stop", func(ctx context.Context, job *elapse.Job[string]) error {
			begun <- true
			switch job.Body {
			case "finishes":
				time.Sleep(100 * time.Millisecond)
				return nil
			case "obeys":
				<-ctx.Done()
				isError(t, job.Cause(), elapse.ErrStopped)
				return ctx.Err()
			}
			<-release
			return nil
		})
	})
	finishes := put(t, client, "stop", "finishes")
	obeys := put(t, client, "stop", "obeys")
	hangs := put(t, client, "stop", "hangs", elapse.Backoff(time.Hour, time.Hour))
	for range make([]int, 3) {
		next(t, begun)
	}
	put(t, client, "stop", "late")
	r.finish(t)
	if state(t, client, finishes) != nil {
		t.Fatal("what ran was not finished")
	}
	job := state(t, client, obeys)
	equal(t, job.State, elapse.StateReady)
	equal(t, job.Attempts, 0)
	job = state(t, client, hangs)
	equal(t, job.State, elapse.StateDelayed)
	equal(t, job.Error, "the worker stopped before the handler ended")
	close(release)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "stop")).Reserved, 0)
}

func TestNeverMoreInHandThanHandlers(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	requests := []*elapse.Request{}
	for index := range make([]int, 300) {
		requests = append(requests, elapse.Put("many", fmt.Sprint(index)))
	}
	must[[]elapse.PutResult](t)(client.PutMany(background, requests...))
	var now, most atomic.Int64
	var mutex sync.Mutex
	done := map[string]int{}
	r := start(t, client, elapse.WorkerConfig{Concurrency: 5}, func(w *elapse.Worker) {
		elapse.Handle(w, "many", func(_ context.Context, job *elapse.Job[string]) error {
			if running := now.Add(1); running > most.Load() {
				most.Store(running)
			}
			mutex.Lock()
			done[job.Body]++
			mutex.Unlock()
			time.Sleep(time.Millisecond)
			now.Add(-1)
			return nil
		})
	})
	for range make([]int, 300) {
		equal(t, next(t, r.endings), elapse.EndDone)
	}
	r.finish(t)
	equal(t, len(done), 300)
	if most.Load() > 5 {
		t.Fatalf("%d handlers ran at the same time", most.Load())
	}
}

func TestChain(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	ended := make(chan string, 1)
	r := start(t, client, elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, "one", func(ctx context.Context, job *elapse.Job[string]) error {
			results, err := job.Done(ctx, elapse.Put("two", job.Body+" two"), elapse.Put("log", "x"))
			equal(t, len(results), 2)
			equal(t, results[0].Outcome, elapse.Scheduled)
			if err != nil {
				return err
			}
			return errors.New("what a handler does afterwards fails, and changes nothing")
		})
		elapse.Handle(w, "two", func(ctx context.Context, job *elapse.Job[string]) error {
			ended <- job.Body
			_, err := job.Done(ctx)
			return err
		})
	})
	put(t, client, "one", "one")
	equal(t, next(t, ended), "one two")
	equal(t, next(t, r.endings), elapse.EndDone)
	equal(t, next(t, r.endings), elapse.EndDone)
	r.finish(t)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "")).Delayed, 0)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "log")).Ready, 1)
}

func TestWorkerRefuses(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	isError(t, elapse.NewWorker(client, elapse.WorkerConfig{}).Run(background), elapse.ErrInvalid)
	worker := elapse.NewWorker(client, elapse.WorkerConfig{Concurrency: 1001})
	handler := func(context.Context, *elapse.Job[string]) error { return nil }
	elapse.Handle(worker, "a", handler)
	isError(t, worker.Run(background), elapse.ErrInvalid)
	worker = elapse.NewWorker(client, elapse.WorkerConfig{})
	elapse.Handle(worker, "wait", handler)
	elapse.Handle(worker, "count", handler)
	isError(t, worker.Run(background), elapse.ErrInvalid)
	ctx, cancel := context.WithCancel(background)
	cancel()
	worker = elapse.NewWorker(client, elapse.WorkerConfig{})
	elapse.Handle(worker, "a", handler)
	works(t, worker.Run(ctx))
	isError(t, worker.Run(ctx), elapse.ErrInvalid)
}

func TestSignalEndsAWorker(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	begun, ended := make(chan bool), make(chan error, 1)
	worker := elapse.NewWorker(client, elapse.WorkerConfig{})
	elapse.Handle(worker, "signal", func(context.Context, *elapse.Job[string]) error {
		begun <- true
		time.Sleep(50 * time.Millisecond)
		return nil
	})
	go func() { ended <- worker.RunUntilSignal(background) }()
	id := put(t, client, "signal", "x")
	next(t, begun)
	works(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	works(t, next(t, ended))
	if state(t, client, id) != nil {
		t.Fatal("what ran was not finished")
	}
}

// records is a Logger whose warnings and errors are lines.
type records struct {
	quiet
	lines chan string
}

func (r records) Warn(message string, arguments ...any) {
	r.lines <- strings.TrimSpace(fmt.Sprintln(append([]any{message}, arguments...)...))
}
func (r records) Error(message string, arguments ...any) { r.Warn(message, arguments...) }

func TestFailureIsLogged(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	logger := records{lines: make(chan string, 10)}
	endings := make(chan elapse.Ending, 10)
	handle := func(_ context.Context, job *elapse.Job[string]) error {
		switch job.Body {
		case "later":
			return elapse.RetryIn(time.Hour, errors.New("busy"))
		case "panic":
			panic("at the\ndisco")
		}
		return errors.New("no route to host")
	}
	config := elapse.WorkerConfig{Logger: logger, After: func(_ *elapse.JobInfo, ending elapse.Ending) { endings <- ending }}
	body := "x"
	work := func(tube string, config elapse.WorkerConfig) (int64, func()) {
		worker := elapse.NewWorker(client, config)
		elapse.Handle(worker, tube, handle)
		put(t, client, tube, "later")
		id := put(t, client, tube, body, elapse.Backoff(time.Hour, time.Hour))
		ctx, stop := context.WithCancel(background)
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx) }()
		next(t, endings)
		next(t, endings)
		return id, func() { stop(); works(t, next(t, ended)) }
	}
	id, stop := work("loud", config)
	equal(t, next(t, logger.lines), fmt.Sprintf("elapse: a handler failed job %d tube loud error no route to host", id))
	stop()
	config.OnFailure = func(context.Context, *elapse.JobInfo, error) {}
	_, stop = work("quiet", config)
	stop()
	equal(t, len(logger.lines), 0)

	// Without a Logger it is a line on standard error, by the package log.
	var said lockedText
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	config.Logger, config.OnFailure = nil, nil
	id, stop = work("standard", config)
	stop()
	want := fmt.Sprintf("elapse: a handler failed job=%d tube=standard error=no route to host\n", id)
	if text := said.String(); !strings.HasSuffix(text, want) || strings.Count(text, "\n") != 1 {
		t.Fatalf("got %q, want one line that ends with %q", text, want)
	}

	// A panic is one line, too, which says where it came from; with an OnFailure as well.
	body = "panic"
	before := len(said.String())
	for _, tube := range []string{"panics", "panics and tells"} {
		id, stop = work(tube, config)
		stop()
		text := said.String()[before:]
		before = len(said.String())
		begin := fmt.Sprintf(`elapse: a handler panicked job=%d tube=%s panic="at the\ndisco" stack=elapse_test.TestFailureIsLogged.`, id, tube)
		if !strings.Contains(text, begin) || !strings.Contains(text, "worker_test.go:") || strings.Contains(text, "runtime.") {
			t.Fatalf("got %q, want %q and the calls", text, begin)
		}
		config.OnFailure = func(context.Context, *elapse.JobInfo, error) {}
	}
	equal(t, strings.Count(said.String(), "\n"), 3)
}

// lockedText keeps what several goroutines write.
type lockedText struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lockedText) Write(bytes []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(bytes)
}

func (l *lockedText) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func TestNoServerIsLoggedOnce(t *testing.T) {
	t.Parallel()
	address := lastingAddress(t)
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{address}}))
	defer client.Close()
	logger := records{lines: make(chan string, 100)}
	worker := elapse.NewWorker(client, elapse.WorkerConfig{Logger: logger})
	done := make(chan string, 1)
	elapse.Handle(worker, "t", func(_ context.Context, job *elapse.Job[string]) error {
		done <- job.Body
		return nil
	})
	ctx, stop := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	if line := next(t, logger.lines); !strings.HasPrefix(line, "elapse: no jobs can be taken, trying again error ") {
		t.Fatal(line)
	}
	time.Sleep(300 * time.Millisecond) // some tries, which are not told
	elapsetest.StartWith(t, address, "--durability", "memory")
	put(t, client, "t", "x")
	equal(t, next(t, done), "x")
	equal(t, next(t, logger.lines), "elapse: a server is reached again")
	stop()
	works(t, next(t, ended))
	equal(t, len(logger.lines), 0)
}
