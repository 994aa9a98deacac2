package elapse

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Cancel makes the request that cancels the jobs with these keys.
func Cancel(tube string, keys ...string) *Request {
	request := &Request{name: "CANCEL", arguments: append([]any{tube}, texts(keys)...)}
	if len(keys) == 0 {
		request.failure = invalid("Cancel needs a key")
	}
	return request
}

// CancelID makes the request that cancels the jobs with these ids.
func CancelID(ids ...int64) *Request {
	request := &Request{name: "CANCELID", arguments: numbers(ids)}
	if len(ids) == 0 {
		request.failure = invalid("CancelID needs an id")
	}
	return request
}

// Reschedule makes the request that gives the job with this key another due time: one of In and At.
func Reschedule(tube, key string, when PutOption) *Request {
	request := &Request{name: "RESCHEDULE", arguments: []any{tube, key}}
	return request.when(when)
}

// RescheduleID makes the request that gives the job with this id another due time: one of In and At.
func RescheduleID(id int64, when PutOption) *Request {
	request := &Request{name: "RESCHEDULEID", arguments: []any{id}}
	return request.when(when)
}

func (r *Request) when(when PutOption) *Request {
	if when == nil {
		r.failure = invalid("Reschedule needs In or At")
		return r
	}
	before := len(r.arguments)
	when(r)
	if len(r.arguments) != before+2 || r.arguments[before] != "IN" && r.arguments[before] != "AT" {
		r.failure = invalid("Reschedule takes In or At alone")
	}
	return r
}

// KickID makes the request that lets a buried or delayed job be ready.
func KickID(id int64) *Request { return &Request{name: "KICKID", arguments: []any{id}} }

func texts(all []string) []any {
	result := make([]any, len(all))
	for index, text := range all {
		result[index] = text
	}
	return result
}

func numbers(all []int64) []any {
	result := make([]any, len(all))
	for index, number := range all {
		result[index] = number
	}
	return result
}

// word sends a request that is answered by one word.
func (c *Client) word(ctx context.Context, request *Request) (Outcome, error) {
	what, err := c.command(ctx, request, false)
	if err != nil {
		return "", err
	}
	value, err := c.do(ctx, what)
	if err != nil {
		return "", err
	}
	return readWord(what.name, value)
}

// readWord reads one word, or the error in its place.
func readWord(name string, value any) (Outcome, error) {
	if refused, ok := value.(redis.Error); ok {
		return "", answered(refused)
	}
	word, err := redis.String(value, nil)
	if err != nil {
		return "", unreadable(name, value)
	}
	return Outcome(word), nil
}

// readWords reads one word, or an array of them. An error among them is the error of all.
func readWords(name string, value any) ([]Outcome, error) {
	places, ok := value.([]any)
	if !ok {
		places = []any{value}
	}
	words := make([]Outcome, len(places))
	for index, place := range places {
		word, err := readWord(name, place)
		if err != nil {
			return nil, err
		}
		words[index] = word
	}
	if len(words) == 0 {
		return nil, unreadable(name, value)
	}
	return words, nil
}

// errPerhapsRemoved is what Gone means if the cancel was sent before, and its answer was lost.
var errPerhapsRemoved = ErrUncertain.because(
	errors.New("it is gone, and an earlier try of this call, whose answer was lost, may have removed it"))

// cancel sends a request of Cancel or CancelID, and returns a word for each key or id. before is how many arguments stand
// before those. A word is empty if it is not known; then there is an error.
func (c *Client) cancel(ctx context.Context, request *Request, before int) ([]Outcome, error) {
	what, err := c.command(ctx, request, false)
	if err != nil {
		return nil, err
	}
	all := parts{name: what.name, before: what.arguments[:before]}
	for _, argument := range what.arguments[before:] {
		all.things = append(all.things, []any{argument})
	}
	words := make([]Outcome, len(all.things))
	var failure error
	for index, one := range c.doParts(ctx, all) {
		err := one.err
		if err == nil && one.word == Gone && one.doubtful {
			err = errPerhapsRemoved
		}
		if err == nil {
			words[index] = one.word
		} else if failure == nil || errors.Is(err, ErrUncertain) {
			failure = err
		}
	}
	return words, failure
}

// Cancel cancels the job with this key: Removed, Running (a worker has it and goes on, and nobody gets it
// again) or Gone. It is ErrUncertain if the job is gone and an earlier try of this call, whose answer was lost, may
// have removed it.
func (c *Client) Cancel(ctx context.Context, tube, key string) (Outcome, error) {
	words, err := c.cancel(ctx, Cancel(tube, key), 1)
	if err != nil {
		return "", err
	}
	return words[0], nil
}

// CancelMany cancels the jobs with these keys, up to 1,000, and returns a word for each: none, if there is no key. Keys
// whose partition did not answer are sent again, and no others. With an error the words that are known stand in their
// places all the same, and the others are empty; it is ErrUncertain if one of those jobs may have been cancelled.
func (c *Client) CancelMany(ctx context.Context, tube string, keys ...string) ([]Outcome, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return c.cancel(ctx, Cancel(tube, keys...), 1)
}

// CancelID cancels the job with this id, as Cancel does.
func (c *Client) CancelID(ctx context.Context, id int64) (Outcome, error) {
	words, err := c.cancel(ctx, CancelID(id), 0)
	if err != nil {
		return "", err
	}
	return words[0], nil
}

// CancelAll cancels all jobs of a tube, or those that the selection names. It returns how many are gone,
// and with how many a worker still goes on. After a retry they are those of the last try.
func (c *Client) CancelAll(ctx context.Context, tube string, which Selection) (removed, running int64, err error) {
	arguments := which.arguments([]any{tube})
	value, err := c.do(ctx, command{name: "CANCELALL", arguments: arguments, repeatable: true})
	if err != nil {
		return 0, 0, err
	}
	fields, err := readFields("CANCELALL", value)
	if err != nil {
		return 0, 0, err
	}
	return fields.number("removed"), fields.number("running"), nil
}

// Reschedule gives the job with this key another due time, In or At: Rescheduled, Running or Gone.
func (c *Client) Reschedule(ctx context.Context, tube, key string, when PutOption) (Outcome, error) {
	return c.word(ctx, Reschedule(tube, key, when))
}

// RescheduleID gives the job with this id another due time, In or At.
func (c *Client) RescheduleID(ctx context.Context, id int64, when PutOption) (Outcome, error) {
	return c.word(ctx, RescheduleID(id, when))
}

// Kick makes up to so many buried jobs of a tube ready, or, if none is buried, delayed ones. It returns how
// many. It is not sent again when its answer is lost: then it is ErrUncertain.
func (c *Client) Kick(ctx context.Context, tube string, count int) (int64, error) {
	value, err := c.do(ctx, command{name: "KICK", arguments: []any{tube, count}})
	if err != nil {
		return 0, err
	}
	kicked, err := redis.Int64(value, nil)
	if err != nil {
		return 0, unreadable("KICK", value)
	}
	return kicked, nil
}

// KickID makes a buried or delayed job ready: OK, Running or Gone.
func (c *Client) KickID(ctx context.Context, id int64) (Outcome, error) {
	return c.word(ctx, KickID(id))
}

// Pause hands out nothing of a tube for so long; 0 ends a pause. It answers OK, or Gone if there is no such
// tube.
func (c *Client) Pause(ctx context.Context, tube string, duration time.Duration) (Outcome, error) {
	return c.word(ctx, &Request{name: "PAUSE", arguments: []any{tube, milliseconds(duration)}})
}

// Limits is what limits a tube. Of a number that is 0 there is no limit.
type Limits struct {
	Concurrency      uint32        // how many jobs run at a time, on all workers together
	Rate             uint32        // how many are handed out in the time Per
	Per              time.Duration // 1 ms to 366 days; needs Rate
	Burst            uint32        // how many are handed out at once after a rest; needs Rate
	GroupConcurrency uint32        // how many jobs of each group run at a time
	GroupRate        uint32        // how many of each group are handed out in the time GroupPer
	GroupPer         time.Duration // needs GroupRate
	GroupBurst       uint32        // needs GroupRate
	GroupOrder       bool          // a group hands out nothing while its oldest job waits for a retry, or runs
	Buried           uint32        // how many buried jobs are kept
	BuriedAge        time.Duration // how long buried jobs are kept
	// Others are limits that the server has and this struct has not: their names, and a number for each.
	Others map[string]uint32
}

// rate returns the arguments of a rate with this word, if there is one.
func rate(word string, count uint32, per time.Duration, burst uint32) ([]any, error) {
	if count == 0 {
		if per != 0 || burst != 0 {
			return nil, invalid("the time and the burst of %s need its count", word)
		}
		return nil, nil
	}
	arguments := []any{word, count, "PER", milliseconds(per)}
	if burst != 0 {
		arguments = append(arguments, "BURST", burst)
	}
	return arguments, nil
}

// arguments returns what LIMIT is told.
func (l Limits) arguments() ([]any, error) {
	var arguments []any
	for _, count := range []struct {
		word  string
		count uint32
	}{{"CONCURRENCY", l.Concurrency}, {"GROUPCONCURRENCY", l.GroupConcurrency}, {"BURIED", l.Buried}} {
		if count.count != 0 {
			arguments = append(arguments, count.word, count.count)
		}
	}
	for word, count := range l.Others {
		arguments = append(arguments, strings.ToUpper(strings.ReplaceAll(word, "_", "")), count)
	}
	all, err := rate("RATE", l.Rate, l.Per, l.Burst)
	if err != nil {
		return nil, err
	}
	each, err := rate("GROUPRATE", l.GroupRate, l.GroupPer, l.GroupBurst)
	if err != nil {
		return nil, err
	}
	arguments = append(append(arguments, all...), each...)
	if l.GroupOrder {
		arguments = append(arguments, "GROUPORDER")
	}
	if l.BuriedAge != 0 {
		arguments = append(arguments, "BURIED", "AGE", milliseconds(l.BuriedAge))
	}
	if len(arguments) == 0 {
		arguments = append(arguments, "NONE")
	}
	return arguments, nil
}

// SetLimits sets the limits of a tube in place of those before. The zero value takes all away.
func (c *Client) SetLimits(ctx context.Context, tube string, limits Limits) error {
	arguments, err := limits.arguments()
	if err != nil {
		return err
	}
	_, err = c.word(ctx, &Request{name: "LIMIT", arguments: append([]any{tube}, arguments...)})
	return err
}

// Limits returns the limits of a tube. Others has the names of the answer.
func (c *Client) Limits(ctx context.Context, tube string) (Limits, error) {
	value, err := c.do(ctx, command{name: "LIMIT", arguments: []any{tube}, repeatable: true})
	if err != nil || value == nil {
		return Limits{}, err
	}
	fields, err := readFields("LIMIT", value)
	if err != nil {
		return Limits{}, err
	}
	limits := Limits{
		Concurrency: uint32(fields.number("concurrency")), Rate: uint32(fields.number("rate")),
		Per: fields.duration("rate_per"), Burst: uint32(fields.number("rate_burst")),
		GroupConcurrency: uint32(fields.number("group_concurrency")), GroupRate: uint32(fields.number("group_rate")),
		GroupPer: fields.duration("group_rate_per"), GroupBurst: uint32(fields.number("group_rate_burst")),
		GroupOrder: fields.number("group_order") != 0, Buried: uint32(fields.number("buried")),
		BuriedAge: fields.duration("buried_age"),
	}
	for name := range fields {
		switch name {
		case "concurrency", "rate", "rate_per", "rate_burst", "group_concurrency", "group_rate", "group_rate_per",
			"group_rate_burst", "group_order", "buried", "buried_age":
		default:
			if count := fields.number(name); count != 0 {
				if limits.Others == nil {
					limits.Others = map[string]uint32{}
				}
				limits.Others[name] = uint32(count)
			}
		}
	}
	return limits, nil
}
