package elapse

import (
	"context"
	"errors"

	"github.com/gomodule/redigo/redis"
)

// parts is a command about many things, such as the keys of CANCEL. The server answers a word for each of them; in a
// cluster an error stands in the place of a thing whose partition did not answer, and the others are done.
type parts struct {
	name   string
	before []any   // the arguments before those of the things
	things [][]any // the arguments of each thing
	after  []any
}

// arguments returns what is sent about the things with these indices.
func (p *parts) arguments(indices []int) []any {
	all := append([]any(nil), p.before...)
	for _, index := range indices {
		all = append(all, p.things[index]...)
	}
	return append(all, p.after...)
}

// answer is what became of one thing.
type answer struct {
	word     Outcome
	err      error // why there is no word
	doubtful bool  // an earlier try, whose answer was lost, may have done it
}

// doParts sends a command about many things, and sends those again that a partition did not answer. It returns an answer
// for each thing, in their order.
func (c *Client) doParts(ctx context.Context, what parts) []answer {
	answers := make([]answer, len(what.things))
	waiting := make([]int, len(what.things))
	for index := range waiting {
		waiting[index] = index
	}
	err := c.retry(ctx, what.name, true, nil, func(l *link) error {
		value, err := l.conn.Do(what.name, what.arguments(waiting)...)
		var refused redis.Error
		if errors.As(err, &refused) {
			err = answered(refused)
		}
		if err != nil {
			for _, index := range waiting {
				answers[index].doubtful = answers[index].doubtful || fateOf(err) == uncertain
			}
			return err
		}
		places, ok := value.([]any)
		if !ok {
			places = []any{value}
		}
		if len(places) != len(waiting) {
			return unreadable(what.name, value)
		}
		var again []int
		var failure error
		for place, index := range waiting {
			one := &answers[index]
			word, err := readWord(what.name, places[place])
			if err != nil && fateOf(err) != final {
				one.doubtful = one.doubtful || fateOf(err) == uncertain
				again, failure = append(again, index), err
				continue
			}
			if err != nil && one.doubtful {
				err = ErrUncertain.because(err)
			}
			one.word, one.err = word, err
		}
		waiting = again
		return failure
	})
	if err != nil {
		for _, index := range waiting {
			answers[index].err = ofOne(err, answers[index].doubtful)
		}
	}
	return answers
}

// ofOne returns what the error of a call about many things says of one of them. doubtful says whether a try whose answer
// was lost may have done this one.
func ofOne(err error, doubtful bool) error {
	if isUncertain := errors.Is(err, ErrUncertain); doubtful && !isUncertain {
		return ErrUncertain.because(err)
	} else if !doubtful && isUncertain {
		return ErrUnavailable.because(errors.Unwrap(err))
	}
	return err
}
