package elapse

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/gomodule/redigo/redis"
)

// The headers of a piece say where it arrives when it is done. The packages of all languages know them.
const (
	gatherTube = "elapse-gather-tube"
	gatherKey  = "elapse-gather-key"
)

// Await lets the job wait until so many have arrived, or for In or At, whichever is first. It needs Key. A put
// whose key is taken then keeps the job that is there.
func Await(count uint32) PutOption { return option("AWAIT", count) }

// Arrive makes the request that tells the job with this key, which was put with Await, that so many have
// arrived. The options are Token and TokenFor: with a token of the caller's a repeated request counts once
// within its life. Without one the client makes a token for each call.
func Arrive(tube, key string, count uint32, options ...PutOption) *Request {
	request := &Request{name: "ARRIVE", arguments: []any{tube, key, count}}
	for _, apply := range options {
		before := len(request.arguments)
		apply(request)
		if len(request.arguments) == before || request.arguments[before] != "TOKEN" {
			request.failure = invalid("Arrive takes Token and TokenFor alone")
		}
	}
	return request
}

// Arrive tells the job with this key, which was put with Await, that so many have arrived, and returns how many
// are missing now; waits is false if no such job waits. However often the connection is lost, it counts once.
func (c *Client) Arrive(ctx context.Context, tube, key string, count uint32, options ...PutOption) (missing int64, waits bool, err error) {
	what, err := c.command(ctx, Arrive(tube, key, count, options...), false)
	if err != nil {
		return 0, false, err
	}
	value, err := c.do(ctx, what)
	if err != nil {
		return 0, false, err
	}
	return readMissing(value)
}

// readMissing reads the answer of ARRIVE.
func readMissing(value any) (missing int64, waits bool, err error) {
	if missing, ok := value.(int64); ok {
		return missing, true, nil
	}
	word, err := redis.String(value, nil)
	if err != nil || Outcome(word) != Gone {
		return 0, false, unreadable("ARRIVE", value)
	}
	return 0, false, nil
}

// Gather makes the requests of Client.Gather, for Job.Done and Client.Transaction: the put of the job that
// waits, and those of up to 999 pieces. The options are those of Client.Gather, without Key: if that was taken, the
// transaction would put the pieces all the same, and they would be counted for the job that has it. With a Key all
// requests are refused with ErrInvalid.
func Gather(tube string, body any, timeout time.Duration, pieces []*Request, options ...PutOption) []*Request {
	requests := gather(tube, body, timeout, pieces, options...)
	if Put(tube, body, options...).key != "" {
		for _, request := range requests {
			request.failure = invalid("a gather in a transaction makes a key of its own, and takes none: " +
				"with a Key that is taken the pieces would be put all the same; Client.Gather takes a Key")
		}
	}
	return requests
}

// gather makes the requests of a gather, with the caller's key or one of its own.
func gather(tube string, body any, timeout time.Duration, pieces []*Request, options ...PutOption) []*Request {
	whole := Put(tube, body, options...)
	if whole.key == "" {
		Key(newToken())(whole)
	}
	Await(uint32(len(pieces)))(whole)
	In(timeout)(whole)
	FailKey()(whole) // pieces of two gathers must not be counted together
	if len(pieces) == 0 {
		whole.failure = invalid("a gather needs a piece")
	}
	if !utf8.ValidString(tube) || !utf8.ValidString(whole.key) {
		// The headers of the pieces name both, and are JSON: the pieces would arrive somewhere else.
		whole.failure = invalid("the tube and the key of a gather are UTF-8")
	}
	requests := []*Request{whole}
	for _, piece := range pieces {
		if piece == nil || piece.name != "PUT" {
			whole.failure = invalid("the pieces of a gather are made by Put")
			continue
		}
		copied := *piece
		copied.headers = map[string]string{}
		for name, value := range piece.headers {
			copied.headers[name] = value
		}
		copied.headers[gatherTube], copied.headers[gatherKey] = tube, whole.key
		requests = append(requests, &copied)
	}
	return requests
}

// Gather puts a job that waits until all pieces, made by Put, are done, or for the timeout, and then the pieces. It
// returns the results of all, the waiting job's first. The options are those of the waiting job, without In,
// Await and others that say when it is due. If its key is given and taken, it returns ErrBusyKey, and no piece is
// put. If one of them cannot be written, such as a body that Config.Codec refuses, it is ErrInvalid, and nothing is put. If this program dies meanwhile, some pieces may never be put: the timeout is for that, too.
func (c *Client) Gather(ctx context.Context, tube string, body any, timeout time.Duration, pieces []*Request, options ...PutOption) ([]PutResult, error) {
	var commands []command
	for _, request := range gather(tube, body, timeout, pieces, options...) {
		what, err := c.command(ctx, request, false)
		if err != nil {
			return nil, err
		}
		commands = append(commands, what)
	}
	first, err := putResults(c.doAll(ctx, commands[:1]))
	if err != nil {
		return nil, err
	}
	others, err := putResults(c.doAll(ctx, commands[1:]))
	return append(first, others...), err
}

// arrive ends a piece of a gather whose handler returned without Done, and lets it arrive.
func (j *JobInfo) arrive() error {
	if j.GatherKey == "" || j.Cause() == ErrCancelled || j.held.isSettled() {
		return nil
	}
	_, err := j.Done(context.Background())
	return err
}
