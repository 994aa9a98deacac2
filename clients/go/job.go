package elapse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// JobInfo is a job that was handed out to this worker.
type JobInfo struct {
	ID      int64
	Lease   string // the name of this hand-out
	Tube    string
	Key     string // empty: none
	Raw     []byte // the body as it came
	Due     time.Time
	Attempt int64 // 1, and 1 more for each hand-out that failed
	Missed  int64 // occurrences of a recurring job that passed since the one before

	TTR          time.Duration
	Tag          string
	Group        string
	Headers      map[string]string // nil if they are not an object of texts
	RawHeaders   []byte
	AttemptsLeft int64 // how many more hand-outs may fail after this one; -1: no limit
	Recurring    bool
	Error        string // what went wrong last
	ErrorAt      time.Time

	Missing               int64  // of a job put with Await: how many had not arrived when its time was over
	GatherTube, GatherKey string // of a piece of a gather: the job that waits for it

	held *held
}

// Job is a job with its body, which was read by Config.Codec, or is []byte or string as it came.
type Job[T any] struct {
	*JobInfo
	Body T
}

// held is what the worker knows of a job in hand.
type held struct {
	worker *Worker
	info   *JobInfo
	cancel context.CancelFunc

	mutex   sync.Mutex
	cause   error  // why the handler's context ended
	settled bool   // the server has the outcome, or is not to get one from the handler
	ending  Ending // once it is settled
	idle    bool   // the lease is not begun anew
	ends    time.Time
	begun   time.Time     // when the handler began
	took    time.Duration // how long it took; 0 while it runs
}

func (h *held) run(now time.Time) {
	h.mutex.Lock()
	h.begun = now
	h.mutex.Unlock()
}

func (h *held) stop(now time.Time) {
	h.mutex.Lock()
	h.took = now.Sub(h.begun)
	h.mutex.Unlock()
}

// ran returns how long the handler took, or has been running.
func (h *held) ran() time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.took == 0 && !h.begun.IsZero() {
		return time.Since(h.begun)
	}
	return h.took
}

// end ends the handler's context. The first cause counts.
func (h *held) end(cause error) {
	h.mutex.Lock()
	if h.cause == nil {
		h.cause = cause
	}
	h.idle = true
	h.mutex.Unlock()
	h.cancel()
}

// settle returns whether the caller is the one who tells the server the outcome, or has told it.
func (h *held) settle(ending Ending) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.settled {
		return false
	}
	h.settled, h.ending = true, ending
	return true
}

func (h *held) isSettled() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.settled
}

func (h *held) why() error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.cause
}

// Cause returns why the context of the handler ended: ErrCancelled, ErrLeaseLost, ErrTimeLimit or
// ErrStopped; nil while it goes on.
func (j *JobInfo) Cause() error {
	if j.held == nil {
		return nil
	}
	return j.held.why()
}

// Done ends the job, and does the requests in the same moment: both, or neither, whatever crashes, exactly
// once. A piece of a gather arrives, too. Afterwards the handler may return. With ErrLeaseLost nothing was done, because the job has ended, was
// cancelled, or is another worker's: stop. ErrUncertain says that nobody knows: return the error.
func (j *JobInfo) Done(ctx context.Context, requests ...*Request) ([]Result, error) {
	if j.held == nil {
		return nil, invalid("the job was not handed out by a Worker")
	}
	all := requests
	if j.GatherKey != "" {
		all = append(requests[:len(requests):len(requests)], Arrive(j.GatherTube, j.GatherKey, 1))
	}
	results, err := j.held.worker.client.transact(ctx, &leased{j.ID, j.Lease}, all)
	if err == nil {
		results = results[:len(requests)]
		j.held.settle(EndDone)
		j.held.mutex.Lock()
		j.held.idle = true
		j.held.mutex.Unlock()
	} else if errors.Is(err, ErrLeaseLost) {
		j.held.end(ErrLeaseLost)
	}
	return results, err
}

type retryIn struct {
	delay time.Duration
	free  bool
	cause error
}

func (r *retryIn) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	return "to be tried again in " + r.delay.String()
}

func (r *retryIn) Unwrap() error { return r.cause }

// notNegative returns 0 for a time that has passed: the server would refuse it, and the job would wait for the end of its
// lease.
func notNegative(delay time.Duration) time.Duration {
	if delay < 0 {
		return 0
	}
	return delay
}

// RetryIn is an error that a handler returns to get the job again after this time, or later if its backoff
// says so. It counts as an attempt. The cause may be nil.
func RetryIn(delay time.Duration, cause error) error {
	return &retryIn{notNegative(delay), false, cause}
}

// Snooze is an error that a handler returns to get the job again after this time. It counts as no attempt.
func Snooze(delay time.Duration) error { return &retryIn{notNegative(delay), true, nil} }

type bury struct{ reason string }

func (b *bury) Error() string { return b.reason }

// Bury is an error that a handler returns to set the job aside until somebody kicks it.
func Bury(reason string) error { return &bury{reason} }

// errorText returns what the server is told of an error: its type, unless that says nothing, and its
// message.
func errorText(err error) string {
	switch fmt.Sprintf("%T", err) {
	case "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*elapse.retryIn", "*elapse.bury", "*elapse.panicked":
		return err.Error()
	}
	return fmt.Sprintf("%T: %v", err, err)
}

// readJob reads one job of RESERVE with DETAILS.
func readJob(value any) (*JobInfo, error) {
	if refused, ok := value.(redis.Error); ok {
		return nil, answered(refused)
	}
	places, err := redis.Values(value, nil)
	if err != nil || len(places) < 9 {
		return nil, unreadable("RESERVE", value)
	}
	details, err := readFields("RESERVE", places[8])
	if err != nil {
		return nil, err
	}
	f := fields{"id": places[0], "lease": places[1], "tube": places[2], "key": places[3], "body": places[4],
		"due": places[5], "attempt": places[6], "missed": places[7]}
	job := &JobInfo{
		ID: f.number("id"), Lease: f.text("lease"), Tube: f.text("tube"), Key: f.text("key"),
		Raw: f.bytes("body"), Due: f.moment("due"), Attempt: f.number("attempt"), Missed: f.number("missed"),
		TTR: details.duration("ttr"), Tag: details.text("tag"), Group: details.text("group"),
		RawHeaders: details.bytes("headers"), Headers: readHeaders(details.bytes("headers")),
		AttemptsLeft: -1, Recurring: details.number("recurring") == 1, Error: details.text("error"),
		ErrorAt: details.moment("error_at"), Missing: details.number("await"),
	}
	job.GatherTube, job.GatherKey = job.Headers[gatherTube], job.Headers[gatherKey]
	if left, ok := details["attempts_left"].(int64); ok {
		job.AttemptsLeft = left
	}
	if job.Lease == "" || job.Tube == "" || job.TTR <= 0 {
		return nil, unreadable("RESERVE", value)
	}
	return job, nil
}

// readBody fills in the body of a job.
func readBody(codec Codec, raw []byte, body any) error {
	switch body := body.(type) {
	case *[]byte:
		*body = raw
	case *string:
		*body = string(raw)
	case *json.RawMessage:
		*body = raw
	default:
		if err := codec.Unmarshal(raw, body); err != nil {
			return fmt.Errorf("the body cannot be read: %w", err)
		}
	}
	return nil
}
