package elapse

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gomodule/redigo/redis"
)

// fields is a map of an answer. Names that this package does not know are ignored.
type fields map[string]any

func readFields(name string, value any) (fields, error) {
	places, err := redis.Values(value, nil)
	if err != nil || len(places)%2 != 0 {
		return nil, unreadable(name, value)
	}
	result := make(fields, len(places)/2)
	for index := 0; index < len(places); index += 2 {
		key, err := redis.String(places[index], nil)
		if err != nil {
			return nil, unreadable(name, value)
		}
		result[key] = places[index+1]
	}
	return result, nil
}

func (f fields) number(name string) int64 {
	number, _ := f[name].(int64)
	return number
}

func (f fields) duration(name string) time.Duration {
	return time.Duration(f.number(name)) * time.Millisecond
}

// moment returns the zero time if there is none.
func (f fields) moment(name string) time.Time {
	if number, ok := f[name].(int64); ok {
		return time.UnixMilli(number)
	}
	return time.Time{}
}

func (f fields) text(name string) string {
	text, _ := redis.String(f[name], nil)
	return text
}

func (f fields) bytes(name string) []byte {
	bytes, _ := redis.Bytes(f[name], nil)
	return bytes
}

// readHeaders returns nil if the headers are not an object of texts.
func readHeaders(bytes []byte) map[string]string {
	var headers map[string]string
	if len(bytes) == 0 || json.Unmarshal(bytes, &headers) != nil {
		return nil
	}
	return headers
}

// State is what a job does.
type State string

// The states of a job. StateCancelled is shown by LookupID alone: the job was cancelled, and a worker still
// has it.
const (
	StateDelayed   State = "delayed"
	StateReady     State = "ready"
	StateReserved  State = "reserved"
	StateBuried    State = "buried"
	StateCancelled State = "cancelled"
)

// JobState is what the server knows of a job. A text that is empty, or a time that is zero, is not there.
// List leaves out Body and Headers, and, unless Selection.Keys is set, Key, Tag, Group, Error and ErrorAt.
type JobState struct {
	ID         int64
	Tube       string
	State      State
	Due        time.Time
	Missing    int64         // how many arrivals; the job waits for them, or was released without them
	Left       time.Duration // delayed: until it is due; reserved: until the lease ends
	Priority   uint32
	TTR        time.Duration
	Expire     time.Duration // 0: never
	Attempts   int64         // how many have failed
	AttemptMax int64         // 0: no limit
	BackoffMin time.Duration
	BackoffMax time.Duration
	Recurring  bool
	Missed     int64
	Failures   int64
	Lease      string
	Holder     string // reserved: who has it
	Reason     string // buried: why
	Error      string // what went wrong last
	ErrorAt    time.Time
	Key        string
	Tag        string
	Group      string
	Body       []byte
	Headers    map[string]string
	RawHeaders []byte
}

func readJobState(name string, value any) (*JobState, error) {
	if refused, ok := value.(redis.Error); ok {
		return nil, answered(refused)
	}
	f, err := readFields(name, value)
	if err != nil {
		return nil, err
	}
	return &JobState{
		ID: f.number("id"), Tube: f.text("tube"), State: State(f.text("state")), Due: f.moment("due"),
		Missing: f.number("await"), Left: f.duration("left"), Priority: uint32(f.number("priority")), TTR: f.duration("ttr"),
		Expire: f.duration("expire"), Attempts: f.number("attempts"), AttemptMax: f.number("attempts_max"),
		BackoffMin: f.duration("backoff_min"), BackoffMax: f.duration("backoff_max"),
		Recurring: f.number("recurring") == 1, Missed: f.number("missed"), Failures: f.number("failures"),
		Lease: f.text("lease"), Holder: f.text("holder"), Reason: f.text("reason"), Error: f.text("error"),
		ErrorAt: f.moment("error_at"), Key: f.text("key"), Tag: f.text("tag"), Group: f.text("group"),
		Body: f.bytes("body"), RawHeaders: f.bytes("headers"), Headers: readHeaders(f.bytes("headers")),
	}, nil
}

func (c *Client) lookup(ctx context.Context, name string, arguments ...any) (*JobState, error) {
	value, err := c.do(ctx, command{name: name, arguments: arguments, repeatable: true})
	if err != nil || value == nil {
		return nil, err
	}
	return readJobState(name, value)
}

// Lookup shows the job with this key; nil if there is none.
func (c *Client) Lookup(ctx context.Context, tube, key string) (*JobState, error) {
	return c.lookup(ctx, "LOOKUP", tube, key)
}

// LookupID shows the job with this id; nil if there is none.
func (c *Client) LookupID(ctx context.Context, id int64) (*JobState, error) {
	return c.lookup(ctx, "LOOKUPID", id)
}

// Selection says which jobs of a tube are meant. The zero value means all.
type Selection struct {
	State State
	Tag   string
	Keys  bool // List alone: read key, tag, group and error of each from the disk
}

func (s Selection) arguments(arguments []any) []any {
	if s.State != "" {
		arguments = append(arguments, "STATE", string(s.State))
	}
	if s.Tag != "" {
		arguments = append(arguments, "TAG", s.Tag)
	}
	return arguments
}

// Jobs goes through the jobs of a list:
//
//	jobs := client.List(ctx, "orders", elapse.Selection{})
//	for jobs.Next() {
//		fmt.Println(jobs.Job().ID)
//	}
//	if err := jobs.Err(); err != nil { ... }
type Jobs struct {
	client    *Client
	ctx       context.Context
	arguments []any
	keys      bool
	cursor    any // nil before the first answer
	page      []any
	job       *JobState
	err       error
	ended     bool
}

// List goes through the jobs of a tube, in no order. A job that is there from the beginning to the end
// comes exactly once.
func (c *Client) List(ctx context.Context, tube string, which Selection) *Jobs {
	return &Jobs{client: c, ctx: ctx, arguments: which.arguments([]any{tube}), keys: which.Keys}
}

// Next goes on to the next job. It returns false at the end, and when there is an error.
func (j *Jobs) Next() bool {
	for j.err == nil && len(j.page) == 0 && !j.ended {
		j.read()
	}
	if j.err != nil || len(j.page) == 0 {
		return false
	}
	j.job, j.err = readJobState("LIST", j.page[0])
	j.page = j.page[1:]
	return j.err == nil
}

func (j *Jobs) read() {
	arguments := j.arguments
	if j.cursor != nil {
		arguments = append(arguments[:len(arguments):len(arguments)], "CURSOR", j.cursor)
	}
	if j.keys {
		arguments = append(arguments[:len(arguments):len(arguments)], "KEYS")
	}
	value, err := j.client.do(j.ctx, command{name: "LIST", arguments: arguments, repeatable: true})
	if err != nil {
		j.err = err
		return
	}
	places, err := redis.Values(value, nil)
	if err != nil || len(places) < 2 {
		j.err = unreadable("LIST", value)
		return
	}
	j.cursor = places[0]
	if j.page, err = redis.Values(places[1], nil); err != nil {
		j.err = unreadable("LIST", value)
	}
	end, err := redis.Int64(j.cursor, nil)
	j.ended = err == nil && end == 0
}

// Job returns the job that Next went to.
func (j *Jobs) Job() *JobState { return j.job }

// Err returns the error that ended the list, or nil.
func (j *Jobs) Err() error { return j.err }

// Stats counts jobs, of a tube or of the server: now, and since the server's start. All has every number
// of the answer by its name; times are in milliseconds.
type Stats struct {
	Delayed, Ready, Reserved, Buried, CancelledRunning int64
	Held, Running, Groups                              int64
	HeldBy                                             string // the limit that holds jobs back; "": none does
	TotalPut, TotalDone, TotalTimeouts, TotalDead      int64
	PauseLeft                                          time.Duration
	All                                                map[string]int64
}

// Stats counts the jobs of a tube, or, if the tube is empty, those of the server. It returns nil if there
// is no such tube.
func (c *Client) Stats(ctx context.Context, tube string) (*Stats, error) {
	var arguments []any
	if tube != "" {
		arguments = []any{tube}
	}
	value, err := c.do(ctx, command{name: "STATS", arguments: arguments, repeatable: true})
	if err != nil || value == nil {
		return nil, err
	}
	f, err := readFields("STATS", value)
	if err != nil {
		return nil, err
	}
	stats := &Stats{
		Delayed: f.number("delayed"), Ready: f.number("ready"), Reserved: f.number("reserved"),
		Buried: f.number("buried"), CancelledRunning: f.number("cancelled_running"), Held: f.number("held"), HeldBy: f.text("held_by"),
		Running: f.number("running"), Groups: f.number("groups"), TotalPut: f.number("total_put"),
		TotalDone: f.number("total_done"), TotalTimeouts: f.number("total_timeouts"),
		TotalDead: f.number("total_dead"), PauseLeft: f.duration("pause_left"), All: map[string]int64{},
	}
	for name, value := range f {
		if number, ok := value.(int64); ok {
			stats.All[name] = number
		}
	}
	return stats, nil
}

// GroupState is what the server knows of a group of a tube that has jobs.
type GroupState struct {
	Group                           string
	Delayed, Ready, Running, Buried int64         // Running: a worker has them, also cancelled ones
	Held                            int64         // how many of the ready ones a limit of each group holds back
	HeldBy                          string        // "group_concurrency", "group_rate" or "group_order"; "": none does
	HeldLeft                        time.Duration // until the rate of the group lets a job run; 0: it is not the rate
	Overdue                         time.Duration // for how long the first ready job has been due
}

// Groups returns the groups of a tube that have jobs, in no order; with held those alone of which a limit of
// each group holds jobs back. The limit of the whole tube is in Stats.HeldBy.
func (c *Client) Groups(ctx context.Context, tube string, held bool) ([]GroupState, error) {
	arguments := []any{tube}
	if held {
		arguments = append(arguments, "HELD")
	}
	var groups []GroupState
	err := c.pages(ctx, "GROUPS", arguments, func(places []any) error {
		for _, place := range places {
			f, err := readFields("GROUPS", place)
			if err != nil {
				return err
			}
			groups = append(groups, GroupState{
				Group: f.text("group"), Delayed: f.number("delayed"), Ready: f.number("ready"),
				Running: f.number("running"), Buried: f.number("buried"), Held: f.number("held"),
				HeldBy: f.text("held_by"), HeldLeft: f.duration("held_left"), Overdue: f.duration("overdue"),
			})
		}
		return nil
	})
	return groups, err
}

// Tubes returns the names of the tubes.
func (c *Client) Tubes(ctx context.Context) ([]string, error) {
	var names []string
	seen := map[string]bool{}
	err := c.pages(ctx, "TUBES", nil, func(places []any) error {
		page, err := redis.Strings(places, nil)
		if err != nil {
			return unreadable("TUBES", places)
		}
		for _, name := range page {
			if !seen[name] { // a cluster names a tube once for each partition that has it
				seen[name] = true
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// pages reads all pages of a list, and gives the items of each to a function. An error of the server
// among the items is the error of all.
func (c *Client) pages(ctx context.Context, name string, arguments []any, read func(places []any) error) error {
	for cursor := any("0"); ; {
		page := append(arguments[:len(arguments):len(arguments)], "CURSOR", cursor)
		value, err := c.do(ctx, command{name: name, arguments: page, repeatable: true})
		if err != nil {
			return err
		}
		answer, err := redis.Values(value, nil)
		if err != nil || len(answer) < 2 {
			return unreadable(name, value)
		}
		places, err := redis.Values(answer[1], nil)
		if err != nil {
			return unreadable(name, value)
		}
		for _, place := range places {
			if refused, ok := place.(redis.Error); ok {
				return answered(refused)
			}
		}
		if err := read(places); err != nil {
			return err
		}
		cursor = answer[0]
		if end, err := redis.Int64(cursor, nil); err == nil && end == 0 {
			return nil
		}
	}
}
