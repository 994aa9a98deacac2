package elapse

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// WorkerConfig says how a worker behaves. The zero value is good for most.
type WorkerConfig struct {
	// Concurrency is how many handlers run at a time, 8 unless given, at most 1,000.
	Concurrency int
	// TimeLimit is how long a handler may take; 0 is no limit. When it is over the handler's context ends,
	// and the lease is begun anew no more: a handler that hangs loses the job to another worker. Without a
	// limit a handler that hangs keeps its job for ever.
	TimeLimit time.Duration
	// ShutdownLimit is how long handlers may go on once the worker is to stop, 20 s unless given. Then their
	// contexts end, and 2 s later their jobs are given back.
	ShutdownLimit time.Duration
	// Before is called before a handler, and returns the handler's context: one with a span, say.
	Before func(ctx context.Context, job *JobInfo) context.Context
	// After is called when the server has the outcome. It should be quick: acknowledgements wait for it.
	After func(job *JobInfo, ending Ending)
	// OnFailure is called when a handler returned an error, or panicked. Without it the Logger gets a warning
	// with the job, the tube and the error, except for RetryIn and Snooze, and jobs that were cancelled or given back. A
	// panic is an error of the Logger, with the calls that led to it, whether there is an OnFailure or not.
	OnFailure func(ctx context.Context, job *JobInfo, err error)
	// Logger gets what goes wrong; that of the client, or, if it has none, standard error, a line for each warning and
	// error. That no server is reached it gets once, and again when one is.
	Logger Logger
}

// Ending says how a hand-out ended.
type Ending string

// How hand-outs end.
const (
	EndDone      Ending = "done"
	EndFailed    Ending = "failed"    // it is tried again, or buried if no attempt is left
	EndBuried    Ending = "buried"    // the handler buried it
	EndCancelled Ending = "cancelled" // it was cancelled while the handler worked
	EndLost      Ending = "lost"      // the lease had ended, or the server did not answer in time
	EndReturned  Ending = "returned"  // the worker stopped before it was done
)

// Worker hands jobs to handlers. Make it by NewWorker, give it handlers by Handle, and call Run.
type Worker struct {
	client   *Client
	config   WorkerConfig
	handlers map[string]func(context.Context, *JobInfo) error
	started  atomic.Bool
	twice    string        // a tube that two handlers were given for
	hurry    chan struct{} // closed when the worker is to wait for its handlers no longer

	places  chan struct{} // one for each handler that runs
	running atomic.Int64  // handlers that have not returned
	acks    chan *held
	woken   chan struct{} // the keeper is to look again: there is a job with a shorter TTR

	mutex sync.Mutex
	hands map[*held]struct{} // jobs whose outcome the server does not have
}

const (
	reserveWait   = time.Second
	defaultLimit  = 20 * time.Second
	defaultCount  = 8
	maxCount      = 1000
	stopGrace     = 2 * time.Second
	lastWords     = 3 * time.Second // how long a worker that ends tries to tell the server
	ackDelay      = 5 * time.Millisecond
	ackMost       = 100
	pairsMost     = 500
	shortestSleep = 5 * time.Millisecond

	shortestPatience = 100 * time.Millisecond
)

// NewWorker makes a worker over a client. It has to reserve on a connection of its own, which the client's
// MaxConnections does not count.
func NewWorker(client *Client, config WorkerConfig) *Worker {
	if client == nil {
		panic("elapse: NewWorker needs a client; did Open return an error?")
	}
	if config.Concurrency == 0 {
		config.Concurrency = defaultCount
	}
	if config.ShutdownLimit == 0 {
		config.ShutdownLimit = defaultLimit
	}
	if config.Logger == nil {
		config.Logger = client.config.Logger
	}
	if _, ok := config.Logger.(silent); ok {
		config.Logger = standardError{}
	}
	return &Worker{client: client, config: config, woken: make(chan struct{}, 1), hurry: make(chan struct{}),
		handlers: map[string]func(context.Context, *JobInfo) error{}, hands: map[*held]struct{}{}}
}

// Handle lets a function do the jobs of a tube. The job is done when it returns nil; with an error it is
// tried again, as its backoff says: see RetryIn, Snooze and Bury. A panic is an error. The context ends when
// the job was cancelled, when its lease was lost, when the time limit is over, and when the worker stops and
// its limit is over; JobInfo.Cause says which. Call it before Run, once for each tube.
func Handle[T any](worker *Worker, tube string, handler func(ctx context.Context, job *Job[T]) error) {
	if _, taken := worker.handlers[tube]; taken {
		worker.twice = tube
	}
	worker.handlers[tube] = func(ctx context.Context, info *JobInfo) error {
		job := &Job[T]{JobInfo: info}
		if err := readBody(worker.client.config.Codec, info.Raw, &job.Body); err != nil {
			return err
		}
		return handler(ctx, job)
	}
}

type standardError struct{}

func (standardError) Debug(string, ...any)                   {}
func (standardError) Info(string, ...any)                    {}
func (standardError) Warn(message string, arguments ...any)  { log.Print(line(message, arguments)) }
func (standardError) Error(message string, arguments ...any) { log.Print(line(message, arguments)) }

// line writes a message, and behind it names and values in turn. A value of several lines is quoted.
func line(message string, arguments []any) string {
	for index := 0; index+1 < len(arguments); index += 2 {
		value := fmt.Sprint(arguments[index+1])
		if strings.ContainsAny(value, "\r\n") {
			value = strconv.Quote(value)
		}
		message += fmt.Sprintf(" %v=%s", arguments[index], value)
	}
	return message
}

// detached has the values of a context, and does not end with it.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }

// RunUntilSignal runs until SIGTERM, SIGINT, or the context's end, as Run does. A second signal ends the wait for the
// handlers, as the end of ShutdownLimit does.
func (w *Worker) RunUntilSignal(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for count := 0; count < 2; count++ {
			select {
			case <-signals:
				stop()
			case <-ended:
				return
			}
		}
		close(w.hurry)
	}()
	return w.Run(ctx)
}

// tubes returns the tubes of the handlers. A tube with the name of an option has to stand first.
func (w *Worker) tubes() ([]any, error) {
	if len(w.handlers) == 0 {
		return nil, invalid("the worker has no handler")
	}
	var first, rest []string
	for tube := range w.handlers {
		switch strings.ToLower(tube) {
		case "count", "wait", "details", "holder":
			first = append(first, tube)
		default:
			rest = append(rest, tube)
		}
	}
	if len(first) > 1 {
		sort.Strings(first)
		return nil, invalid("one worker cannot take the tubes %s together: each has the name of an option",
			strings.Join(first, " and "))
	}
	sort.Strings(rest)
	return texts(append(first, rest...)), nil
}

// Run takes jobs and hands them to the handlers, until the context ends. Then handlers that run finish,
// within ShutdownLimit; what has not begun is given back; and Run returns nil. It returns an error if the
// server refuses to hand out: a wrong password, say; and if the client was closed. Values of the context reach the handlers. A worker runs
// once.
func (w *Worker) Run(ctx context.Context) error {
	tubes, err := w.tubes()
	if err != nil {
		return err
	}
	if w.twice != "" {
		return invalid("the tube %q has two handlers", w.twice)
	}
	if w.config.TimeLimit < 0 || w.config.ShutdownLimit < 0 {
		return invalid("TimeLimit and ShutdownLimit are not negative")
	}
	if w.config.Concurrency < 1 || w.config.Concurrency > maxCount {
		return invalid("Concurrency is 1 to %d", maxCount)
	}
	if w.started.Swap(true) {
		return invalid("a worker runs once")
	}
	w.places = make(chan struct{}, w.config.Concurrency)
	w.acks = make(chan *held, 2*w.config.Concurrency)
	inner := detached{ctx}
	stop := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Add(1)
	go func() { defer helpers.Done(); w.keepLeases(inner, stop) }()
	acked := make(chan struct{})
	go func() { defer close(acked); w.gatherAcks(inner, stop) }()

	err = w.reserveAll(ctx, inner, tubes)
	w.finish(inner)
	close(stop)
	<-acked
	helpers.Wait()
	return err
}

// reserveAll takes jobs until the context ends, or the server refuses.
func (w *Worker) reserveAll(ctx, inner context.Context, tubes []any) error {
	var connection *link
	defer func() {
		if connection != nil {
			connection.conn.Close()
		}
	}()
	failures := 0
	unreached := false
	for {
		// What is done could not be told any more, and each job would come again and again.
		if w.client.links.isClosed() {
			return errClosed
		}
		free := w.freePlaces(ctx)
		if free == 0 {
			return nil
		}
		jobs, err := w.reserve(ctx, &connection, tubes, free)
		for used := len(jobs); used < free; used++ {
			<-w.places
		}
		w.begin(ctx, inner, jobs)
		if err == nil {
			if unreached {
				w.config.Logger.Warn("elapse: a server is reached again")
			}
			failures, unreached = 0, false
			continue
		}
		var answer *Error
		if errors.As(err, &answer) {
			switch answer.Code {
			case ErrInvalid.Code, ErrNoAuth.Code, ErrWrongPassword.Code, ErrNoPermission.Code:
				return err
			}
		} else if connection != nil {
			connection.conn.Close()
			connection = nil
		}
		if ctx.Err() == nil && !unreached {
			w.config.Logger.Warn("elapse: no jobs can be taken, trying again", "error", err)
		}
		unreached = true
		w.client.links.next()
		sleep(ctx, backOff(failures))
		failures++
	}
}

// freePlaces waits until a handler may begin, and returns how many may; 0 when the context ends.
func (w *Worker) freePlaces(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case w.places <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for free := 1; ; free++ {
		select {
		case w.places <- struct{}{}:
		default:
			return free
		}
	}
}

// reserve asks for so many jobs, and waits for a second. A wait is not broken off when the context ends: a job
// in an answer that nobody reads would be lost until its lease ends.
func (w *Worker) reserve(ctx context.Context, connection **link, tubes []any, count int) ([]*JobInfo, error) {
	if *connection == nil {
		made, err := w.client.links.dialAny(ctx)
		if err != nil {
			return nil, err
		}
		*connection = made
	}
	patient, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-ctx.Done():
			if sleep(patient, reserveWait+lastWords) {
				cancel()
			}
		case <-patient.Done():
		}
	}()
	arguments := append(tubes[:len(tubes):len(tubes)],
		"COUNT", count, "WAIT", milliseconds(reserveWait), "DETAILS")
	var value any
	err := (*connection).until(patient, func() error {
		var err error
		value, err = redis.DoWithTimeout((*connection).conn, reserveWait+replyTimeout, "RESERVE", arguments...)
		return err
	})
	var refused redis.Error
	if errors.As(err, &refused) {
		return nil, answered(refused)
	}
	if err != nil {
		return nil, err
	}
	places, err := redis.Values(value, nil)
	if err != nil {
		return nil, unreadable("RESERVE", value)
	}
	jobs := make([]*JobInfo, 0, len(places))
	for _, place := range places {
		job, err := readJob(place)
		if err != nil {
			w.config.Logger.Error("elapse: a job cannot be read", "error", err)
			continue
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// begin starts a handler for each job. Those that came too late are given back.
func (w *Worker) begin(ctx, inner context.Context, jobs []*JobInfo) {
	if len(jobs) == 0 {
		return
	}
	if ctx.Err() != nil {
		w.giveBack(inner, jobs)
		for range jobs {
			<-w.places
		}
		return
	}
	wake := false
	for _, job := range jobs {
		job.held = &held{worker: w, info: job, ends: time.Now().Add(job.TTR)}
		inner, cancel := context.WithCancel(inner)
		job.held.cancel = cancel
		wake = w.hold(job.held) || wake
		w.running.Add(1)
		go w.work(inner, job.held)
	}
	if wake {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

// hold adds a job to those in hand. It returns whether its TTR is the shortest.
func (w *Worker) hold(h *held) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for other := range w.hands {
		if other.info.TTR <= h.info.TTR {
			w.hands[h] = struct{}{}
			return false
		}
	}
	w.hands[h] = struct{}{}
	return true
}

// letGo forgets a job whose outcome the server has.
func (w *Worker) letGo(h *held, ending Ending) {
	w.mutex.Lock()
	delete(w.hands, h)
	w.mutex.Unlock()
	h.cancel()
	if telemetry := w.client.config.Telemetry; telemetry != nil {
		w.guarded("Telemetry.Handled", func() { telemetry.Handled(h.info, ending, h.ran()) })
	}
	if w.config.After != nil {
		w.guarded("After", func() { w.config.After(h.info, ending) })
	}
}

func (w *Worker) inHand() []*held {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	all := make([]*held, 0, len(w.hands))
	for h := range w.hands {
		all = append(all, h)
	}
	return all
}

// guarded calls a function of the user, which may panic.
func (w *Worker) guarded(name string, call func()) {
	defer func() {
		if value := recover(); value != nil {
			w.config.Logger.Error("elapse: a hook panicked", "hook", name, "panic", value)
		}
	}()
	call()
}

// panicked is the error of a handler that panicked.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// stackMost is how many calls of a panic are logged.
const stackMost = 16

// stackOf returns where the present panic came from, the innermost call first, on one line: without the calls of Go's
// runtime and those of the worker.
func stackOf() string {
	var calls []string
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters[:])])
	for more, below := true, false; more && len(calls) < stackMost; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if below && strings.HasSuffix(frame.Function, ".(*Worker).call") {
			break
		}
		if below && !strings.HasPrefix(frame.Function, "runtime.") {
			calls = append(calls, fmt.Sprintf("%s (%s:%d)", frame.Function, frame.File, frame.Line))
		}
		below = below || frame.Function == "runtime.gopanic"
	}
	return strings.Join(calls, " < ")
}

// call runs the handler. A panic and runtime.Goexit are errors.
func (w *Worker) call(ctx context.Context, h *held, then func(error)) {
	err := errors.New("the handler called runtime.Goexit")
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, stackOf()}
		}
		then(err)
	}()
	err = w.handlers[h.info.Tube](ctx, h.info)
	if err == nil {
		err = h.info.arrive()
	}
}

// work runs the handler of a job, and tells the server the outcome.
func (w *Worker) work(ctx context.Context, h *held) {
	if w.config.TimeLimit > 0 {
		timer := time.AfterFunc(w.config.TimeLimit, func() { h.end(ErrTimeLimit) })
		defer timer.Stop()
	}
	endSpan := func(error) {}
	if telemetry := w.client.config.Telemetry; telemetry != nil {
		w.guarded("Telemetry.Start", func() {
			if with, end := telemetry.Start(ctx, h.info); with != nil && end != nil {
				ctx, endSpan = with, end
			}
		})
	}
	if w.config.Before != nil {
		w.guarded("Before", func() {
			if with := w.config.Before(ctx, h.info); with != nil {
				ctx = with
			}
		})
	}
	h.run(time.Now())
	w.call(ctx, h, func(err error) {
		h.stop(time.Now())
		w.guarded("the end of a span", func() { endSpan(err) })
		w.running.Add(-1)
		if err != nil {
			w.failed(ctx, h, err)
		}
		if !h.settle(EndDone) { // Done has told it, or the worker gave up
			w.letGo(h, h.ending)
		} else if err == nil {
			w.acks <- h
		} else {
			w.letGo(h, w.fail(h, err))
		}
		<-w.places
	})
}

// failed tells the program that a handler failed.
func (w *Worker) failed(ctx context.Context, h *held, err error) {
	var panicked *panicked
	if errors.As(err, &panicked) {
		w.config.Logger.Error("elapse: a handler panicked", "job", h.info.ID, "tube", h.info.Tube,
			"panic", panicked.value, "stack", panicked.stack)
	}
	if w.config.OnFailure != nil {
		w.guarded("OnFailure", func() { w.config.OnFailure(ctx, h.info, err) })
		return
	}
	cause := h.why()
	var again *retryIn
	if panicked != nil || errors.As(err, &again) || errors.Is(cause, ErrCancelled) || errors.Is(cause, ErrStopped) || errors.Is(cause, ErrLeaseLost) {
		return
	}
	w.config.Logger.Warn("elapse: a handler failed", "job", h.info.ID, "tube", h.info.Tube, "error", err)
}

// fail tells the server that a handler failed.
func (w *Worker) fail(h *held, err error) Ending {
	pair := []any{h.info.ID, h.info.Lease}
	what := command{name: "NACK", arguments: append(pair, "ERROR", errorText(err)), repeatable: true}
	ending := EndFailed
	cause := h.why()
	var again *retryIn
	var aside *bury
	switch {
	case errors.Is(cause, ErrLeaseLost):
		return EndLost
	case errors.Is(cause, ErrStopped):
		what.arguments, ending = append(pair, "IN", "0s"), EndReturned
	case errors.As(err, &aside):
		what.name, ending = "BURY", EndBuried
	case errors.As(err, &again) && again.free:
		what.arguments = append(pair, "IN", milliseconds(again.delay), "ERROR", errorText(err))
	case again != nil:
		what.arguments = append(pair, "AFTER", milliseconds(again.delay), "ERROR", errorText(err))
	}
	value, failure := w.client.do(context.Background(), what)
	if failure == nil {
		words, err := readWords(what.name, value)
		if err == nil && words[0] == Gone {
			return EndLost
		}
		if err == nil && words[0] == "cancelled" {
			return EndCancelled
		}
		failure = err
	}
	if failure != nil {
		w.config.Logger.Error("elapse: the server was not told that a job failed; it comes again when its lease ends",
			"job", h.info.ID, "error", failure)
		return EndLost
	}
	return ending
}
