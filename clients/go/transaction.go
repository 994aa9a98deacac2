package elapse

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Result is the answer to one request of a transaction.
type Result struct {
	ID       int64     // of a put: the job
	Outcome  Outcome   // the word; of many keys or ids the first one
	Outcomes []Outcome // of a request about many keys or ids: a word for each; empty where it is not known
	Missing  int64     // of an arrival: how many are missing now; with Gone no such job waits
	// Err is an error of this request alone, such as ErrBusyKey, which stops nothing. It is ErrUncertain for a cancel
	// that finds no job if an earlier try of the transaction, whose answer was lost, may have removed that job.
	Err error
}

// leased is a lease that guards a transaction.
type leased struct {
	id    int64
	lease string
}

// Transaction does all requests, or none: after a crash, too. It returns a result for each. An error says
// that nothing was done, unless it is ErrUncertain: a transaction that has both puts or arrivals and other
// requests is not sent again once it may have been done, because a second Cancel could remove what the first put.
func (c *Client) Transaction(ctx context.Context, requests ...*Request) ([]Result, error) {
	return c.transact(ctx, nil, requests)
}

// transact sends MULTI, LEASED and ACK of the guard if there is one, the requests, and EXEC. If the lease
// has ended it is ErrLeaseLost, or, if an earlier try may have been the one that ended it, ErrUncertain.
func (c *Client) transact(ctx context.Context, guard *leased, requests []*Request) ([]Result, error) {
	var commands []command
	if guard != nil {
		lease := []any{guard.id, guard.lease}
		commands = append(commands, command{name: "LEASED", arguments: lease}, command{name: "ACK", arguments: lease})
	}
	tokens, repeatable := 0, true
	for _, request := range requests {
		what, err := c.command(ctx, request, guard != nil)
		if err != nil {
			return nil, err
		}
		if what.name == "PUT" || what.name == "ARRIVE" {
			tokens++
		}
		repeatable = repeatable && what.repeatable
		commands = append(commands, what)
	}
	if len(commands) == 0 {
		return nil, nil
	}
	repeatable = guard != nil || repeatable && (tokens == 0 || tokens == len(requests))
	var answers []any
	var first time.Time // when it was sent first that may have been done
	lost := false
	var uncertainty error // why it is not sent again
	ended := func() bool {
		now := time.Now()
		for index := range commands {
			if !commands[index].canTwice(now, first) {
				uncertainty = errTokenEnded
			}
		}
		return uncertainty != nil
	}
	err := c.retry(ctx, "EXEC", repeatable, ended, func(l *link) error {
		if ended() {
			return nil
		}
		began := time.Now()
		value, err := exec(l, commands)
		if err != nil {
			for index := range commands {
				if commands[index].isForgotten(err) {
					uncertainty = ErrUncertain.because(err)
					return nil
				}
			}
			if fateOf(err) == uncertain && first.IsZero() {
				first = began
			}
			return err
		}
		var ok bool
		if answers, ok = value.([]any); !ok || len(answers) != len(commands) {
			lost = value == nil
			if lost {
				return nil
			}
			return unreadable("EXEC", value)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sent := !first.IsZero()
	if uncertainty != nil {
		return nil, uncertainty
	}
	if lost && sent {
		return nil, ErrUncertain.because(ErrLeaseLost)
	}
	if lost {
		return nil, ErrLeaseLost
	}
	own := len(commands) - len(requests) // without those of the guard
	return readResults(commands[own:], answers[own:], sent && guard == nil), nil
}

// exec sends one transaction, and returns the answer of EXEC. A command that was refused is the error.
func exec(l *link, commands []command) (any, error) {
	if err := l.conn.Send("MULTI"); err != nil {
		return nil, err
	}
	for _, what := range commands {
		if err := l.conn.Send(what.name, what.arguments...); err != nil {
			return nil, err
		}
	}
	if err := l.conn.Send("EXEC"); err != nil {
		return nil, err
	}
	if err := l.conn.Flush(); err != nil {
		return nil, err
	}
	var refusal error
	for range commands {
		if err := receive(l, &refusal); err != nil {
			return nil, err
		}
	}
	if err := receive(l, &refusal); err != nil { // one more, for MULTI
		return nil, err
	}
	value, err := l.conn.Receive()
	var refused redis.Error
	if errors.As(err, &refused) {
		if refusal != nil {
			return nil, refusal
		}
		return nil, answered(refused)
	}
	if err == nil && refusal != nil {
		return nil, refusal
	}
	return value, err
}

// receive reads QUEUED. The first refusal is kept: EXEC then says EXECABORT, which does not say why.
func receive(l *link, refusal *error) error {
	_, err := l.conn.Receive()
	var refused redis.Error
	if errors.As(err, &refused) {
		if *refusal == nil {
			*refusal = answered(refused)
		}
		return nil
	}
	return err
}

// readResults reads the answers of a transaction. doubtful says that an earlier try may have done all of it.
func readResults(commands []command, answers []any, doubtful bool) []Result {
	results := make([]Result, len(commands))
	for index, what := range commands {
		if refused, ok := answers[index].(redis.Error); ok {
			results[index].Err = answered(refused)
		} else if what.name == "PUT" {
			put, err := putResult(answers[index])
			results[index] = Result{ID: put.ID, Outcome: put.Outcome, Err: err}
		} else if what.name == "ARRIVE" {
			missing, waits, err := readMissing(answers[index])
			results[index] = Result{Outcome: OK, Missing: missing, Err: err}
			if !waits {
				results[index].Outcome = Gone
			}
		} else if words, err := readWords(what.name, answers[index]); err != nil {
			results[index].Err = err
		} else {
			if doubtful && (what.name == "CANCEL" || what.name == "CANCELID") {
				results[index].Err = withoutGone(words)
			}
			results[index].Outcome, results[index].Outcomes = words[0], words
		}
	}
	return results
}

// withoutGone empties the words of a cancel that was sent before, and whose answer was lost, where they say Gone: that
// try may have removed the job. It returns the error of that, or nil if there is none.
func withoutGone(words []Outcome) error {
	var failure error
	for index, word := range words {
		if word == Gone {
			words[index], failure = "", errPerhapsRemoved
		}
	}
	return failure
}
