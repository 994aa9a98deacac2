package elapse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Request is a command that was not sent yet, for Client.Transaction, Client.PutMany and Job.Done. Make it by
// Put, Cancel, CancelID, Reschedule, Arrive or KickID.
type Request struct {
	name      string
	arguments []any // of a put: those of the options, without tube and body
	tube      string
	body      any
	headers   map[string]string
	key       string        // of a put
	token     bool          // there is a token of the caller's
	life      time.Duration // of that token; 0: longer than a call
	failure   error
}

// PutOption says when a job is due, and what else holds for it.
type PutOption func(*Request)

func option(arguments ...any) PutOption {
	return func(r *Request) { r.arguments = append(r.arguments, arguments...) }
}

// milliseconds returns a duration as the server takes it, rounded up.
func milliseconds(duration time.Duration) string {
	whole := duration / time.Millisecond
	if duration%time.Millisecond > 0 {
		whole++
	}
	return strconv.FormatInt(int64(whole), 10) + "ms"
}

// In makes the job due after this time.
func In(delay time.Duration) PutOption {
	return option("IN", milliseconds(notNegative(delay)))
}

// At makes the job due at this wall-clock time, also when a clock is set. A time that has passed is now.
func At(moment time.Time) PutOption {
	milli := moment.UnixMilli()
	if moment.Nanosecond()%int(time.Millisecond) > 0 {
		milli++
	}
	return option("AT", milli)
}

// Every makes the job recurring, the first time after one interval.
func Every(interval time.Duration) PutOption { return option("EVERY", milliseconds(interval)) }

// Cron makes the job recurring, when the expression says in a zone such as "Europe/Berlin"; an empty zone
// is UTC.
func Cron(expression, zone string) PutOption {
	if zone == "" {
		zone = "utc"
	}
	return option("CRON", expression, "ZONE", zone)
}

// Key names the job. A key is unique in its tube; if it is taken, the job that has it is replaced, unless
// KeepKey, FailKey or Debounce says otherwise.
func Key(key string) PutOption {
	return func(r *Request) { r.key, r.arguments = key, append(r.arguments, "KEY", key) }
}

// KeepKey lets the job that has the key stay, and stores nothing.
func KeepKey() PutOption { return option("IFKEY", "KEEP") }

// FailKey makes the put fail with ErrBusyKey if the key is taken.
func FailKey() PutOption { return option("IFKEY", "FAIL") }

// Debounce puts off the job that has the key, but no later than limit after the first put. It needs In.
func Debounce(limit time.Duration) PutOption {
	return option("IFKEY", "DEBOUNCE", "MAX", milliseconds(limit))
}

// Tag names many jobs, for Client.List and Client.CancelAll.
func Tag(tag string) PutOption { return option("TAG", tag) }

// Group says for whom the job is: the groups of a tube take turns.
func Group(group string) PutOption { return option("GROUP", group) }

// Priority orders ready jobs: smaller numbers come first. The default is 1024.
func Priority(priority uint32) PutOption { return option("PRIORITY", priority) }

// TTR is the time to run: how long a lease lasts. A worker begins it anew while a handler runs. The
// default is 60 s.
func TTR(duration time.Duration) PutOption { return option("TTR", milliseconds(duration)) }

// Expire drops the job if nobody took it so long after it was due.
func Expire(duration time.Duration) PutOption { return option("EXPIRE", milliseconds(duration)) }

// Attempts is how many hand-outs the job gets before it is buried; 0 is no limit. The default is 20.
func Attempts(count uint32) PutOption { return option("ATTEMPTS", count) }

// Backoff is the shortest wait before the first retry, and the longest wait of all. The default is 1 s
// and 10 min.
func Backoff(shortest, longest time.Duration) PutOption {
	return option("BACKOFF", milliseconds(shortest), milliseconds(longest))
}

// Token makes the put safe to repeat by the caller: within 10 minutes the same token stores nothing and
// answers Known. Without it the client makes a token for each put.
func Token(token string) PutOption {
	return func(r *Request) { r.token, r.arguments = true, append(r.arguments, "TOKEN", token) }
}

// TokenFor makes the put safe to repeat for so long, 1 s to 10 min. The client sends it again no longer than that after
// the first try that may have stored it; then it is ErrUncertain. With less than a minute it is that at once after the
// answer UNKNOWN of a node.
func TokenFor(token string, life time.Duration) PutOption {
	return func(r *Request) {
		r.token, r.life = true, life
		r.arguments = append(r.arguments, "TOKEN", token, "FOR", milliseconds(life))
	}
}

// Headers gives the job data beside its body, up to 4,096 bytes as JSON.
func Headers(headers map[string]string) PutOption {
	return func(r *Request) {
		if r.headers == nil {
			r.headers = map[string]string{}
		}
		for name, value := range headers {
			r.headers[name] = value
		}
	}
}

// Put makes the request of a put. Bodies of []byte and string are taken as they are; all else goes through
// Config.Codec, which is JSON unless given.
func Put(tube string, body any, options ...PutOption) *Request {
	request := &Request{name: "PUT", tube: tube, body: body}
	for _, apply := range options {
		apply(request)
	}
	return request
}

// Outcome says what became of a command.
type Outcome string

// What a put answers.
const (
	Scheduled Outcome = "scheduled" // the job is stored
	Replaced  Outcome = "replaced"  // it is stored, in place of the one that had its key
	Kept      Outcome = "kept"      // another job has the key, and waits; nothing is stored
	Buried    Outcome = "buried"    // another job has the key, and is buried; nothing is stored
	// Known: the token came before. If the client made the token, the job is stored: the client sent the
	// put again because the first answer was lost.
	Known Outcome = "known"
)

// What other commands answer.
const (
	// Running: of a put that another job has the key and a worker has that job, so nothing is stored; of
	// Cancel that a worker goes on with the job, and nobody gets it again; of others that a worker has the
	// job, and nothing has changed.
	Running     Outcome = "running"
	Removed     Outcome = "removed"     // nobody will ever get the job
	Gone        Outcome = "gone"        // there is no such job
	Rescheduled Outcome = "rescheduled" // the job has another due time
	OK          Outcome = "ok"
)

// PutResult is the answer of a put.
type PutResult struct {
	// ID is the number of the job; with Kept, Running and Buried that of the job that has the key.
	ID      int64
	Outcome Outcome
	Err     error // of Client.PutMany: why this one was not stored
}

// body returns the bytes of a body.
func (c *Client) body(value any) ([]byte, error) {
	switch value := value.(type) {
	case []byte:
		return value, nil
	case string:
		return []byte(value), nil
	case json.RawMessage:
		return value, nil
	}
	body, err := c.config.Codec.Marshal(value)
	if err != nil {
		return nil, invalid("the body cannot be written").because(err)
	}
	return body, nil
}

// newToken returns a name that nothing else has.
func newToken() string {
	var random [12]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic("elapse: the system has no random bytes: " + err.Error())
	}
	return hex.EncodeToString(random[:])
}

// command returns what is sent for a request. guarded says that the command cannot be done twice, because
// it is in a transaction with LEASED: then it needs no token.
func (c *Client) command(ctx context.Context, request *Request, guarded bool) (command, error) {
	if request == nil {
		return command{}, invalid("a request is nil")
	}
	if request.failure != nil {
		return command{}, request.failure
	}
	if request.name == "ARRIVE" {
		return c.withToken(request, request.arguments, guarded), nil
	}
	if request.name != "PUT" {
		return command{name: request.name, arguments: request.arguments, repeatable: request.name != "KICK"}, nil
	}
	body, err := c.body(request.body)
	if err != nil {
		return command{}, err
	}
	arguments := append([]any{request.tube, body}, request.arguments...)
	headers := c.headers(ctx, request)
	if len(headers) > 0 {
		written, err := json.Marshal(headers)
		if err != nil {
			return command{}, invalid("the headers cannot be written").because(err)
		}
		arguments = append(arguments, "HEADERS", written)
	}
	return c.withToken(request, arguments, guarded), nil
}

// headers returns the headers of a put: those of the trace, of Config.Headers and of the request. The last come first.
func (c *Client) headers(ctx context.Context, request *Request) map[string]string {
	if c.config.Telemetry == nil && c.config.Headers == nil {
		return request.headers
	}
	merged := make(map[string]string, len(request.headers))
	if c.config.Telemetry != nil {
		c.config.Telemetry.Inject(ctx, merged)
	}
	if c.config.Headers != nil {
		for name, value := range c.config.Headers(ctx) {
			merged[name] = value
		}
	}
	for name, value := range request.headers {
		merged[name] = value
	}
	return merged
}

// withToken returns the command of a request that may be sent again: by its token, or one of the client's, unless it is guarded.
func (c *Client) withToken(request *Request, arguments []any, guarded bool) command {
	what := command{name: request.name, arguments: arguments, repeatable: true}
	if guarded {
		return what
	}
	if request.token {
		what.life = request.life
	} else {
		what.arguments = append(arguments[:len(arguments):len(arguments)],
			"TOKEN", newToken(), "FOR", milliseconds(c.config.RetryFor+tokenMargin))
	}
	return what
}

// Put stores a job. Bodies of []byte and string are taken as they are; all else goes through Config.Codec,
// which is JSON unless given. When it returns without an error the job is durable.
func (c *Client) Put(ctx context.Context, tube string, body any, options ...PutOption) (PutResult, error) {
	what, err := c.command(ctx, Put(tube, body, options...), false)
	if err != nil {
		return PutResult{}, err
	}
	value, err := c.do(ctx, what)
	if err != nil {
		return PutResult{}, err
	}
	return putResult(value)
}

// PutMany stores many jobs in few round trips: each by itself, so that one that is refused does not hinder
// the others. Results are in the order of the requests; the Err of each says whether it was stored. The
// error that PutMany returns is the first of them, or nil.
func (c *Client) PutMany(ctx context.Context, requests ...*Request) ([]PutResult, error) {
	results := make([]PutResult, len(requests))
	commands := make([]command, 0, len(requests))
	places := make([]int, 0, len(requests))
	for index, request := range requests {
		what, err := c.command(ctx, request, false)
		if err == nil && what.name != "PUT" {
			err = invalid("PutMany takes puts alone, and not %s", what.name)
		}
		if err != nil {
			results[index].Err = err
			continue
		}
		commands, places = append(commands, what), append(places, index)
	}
	stored, _ := putResults(c.doAll(ctx, commands))
	for index, result := range stored {
		results[places[index]] = result
	}
	for _, result := range results {
		if result.Err != nil {
			return results, result.Err
		}
	}
	return results, nil
}

// putResults reads the answers of puts, each with its error, and returns the first of their errors, too.
func putResults(replies []reply) ([]PutResult, error) {
	results := make([]PutResult, len(replies))
	var first error
	for index, answer := range replies {
		result, err := PutResult{}, answer.err
		if err == nil {
			result, err = putResult(answer.value)
		}
		result.Err = err
		results[index] = result
		if first == nil {
			first = err
		}
	}
	return results, first
}

// putResult reads the answer of a put.
func putResult(value any) (PutResult, error) {
	if refused, ok := value.(redis.Error); ok {
		return PutResult{}, answered(refused)
	}
	places, err := redis.Values(value, nil)
	if err != nil || len(places) < 2 {
		return PutResult{}, unreadable("PUT", value)
	}
	id, err := redis.Int64(places[0], nil)
	word, err2 := redis.String(places[1], nil)
	if err != nil || err2 != nil {
		return PutResult{}, unreadable("PUT", value)
	}
	return PutResult{ID: id, Outcome: Outcome(word)}, nil
}

// unreadable returns the error of an answer that this package does not understand.
func unreadable(name string, value any) error {
	return &Error{Code: "REPLY", Text: fmt.Sprintf("%s answered what this client cannot read: %v", name, value)}
}
