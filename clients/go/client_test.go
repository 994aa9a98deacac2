package elapse_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"elapse"
	"elapse/elapsetest"
)

// background is the context of most calls.
var background = context.Background()

// must fails the test if there is an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func works(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isError(t testing.TB, err error, want *elapse.Error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got the error %v, want %s", err, want.Code)
	}
	var base *elapse.Error
	if !errors.As(err, &base) {
		t.Fatalf("%v is no *elapse.Error", err)
	}
}

type order struct {
	Number string
	Cents  int
}

func TestPutLookupCancel(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	put := must[elapse.PutResult](t)
	word := must[elapse.Outcome](t)
	look := must[*elapse.JobState](t)

	first := put(client.Put(background, "orders", order{"4711", 995}, elapse.In(30*time.Minute), elapse.Key("4711"),
		elapse.Tag("shop"), elapse.Group("ann"), elapse.Priority(7), elapse.TTR(90*time.Second),
		elapse.Expire(time.Hour), elapse.Attempts(3), elapse.Backoff(2*time.Second, time.Minute),
		elapse.Headers(map[string]string{"traceparent": "00-1"})))
	equal(t, first.Outcome, elapse.Scheduled)
	job := look(client.Lookup(background, "orders", "4711"))
	equal(t, job.ID, first.ID)
	equal(t, string(job.Body), `{"Number":"4711","Cents":995}`)
	equal(t, job.State, elapse.StateDelayed)
	equal(t, job.Tag, "shop")
	equal(t, job.Group, "ann")
	equal(t, job.Priority, 7)
	equal(t, job.TTR, 90*time.Second)
	equal(t, job.Expire, time.Hour)
	equal(t, job.AttemptMax, 3)
	equal(t, job.BackoffMin, 2*time.Second)
	equal(t, job.BackoffMax, time.Minute)
	equal(t, job.Headers["traceparent"], "00-1")

	equal(t, put(client.Put(background, "orders", "x", elapse.Key("4711"), elapse.KeepKey())).Outcome, elapse.Kept)
	_, err := client.Put(background, "orders", "x", elapse.Key("4711"), elapse.FailKey())
	isError(t, err, elapse.ErrBusyKey)
	var busy *elapse.Error
	errors.As(err, &busy)
	equal(t, busy.JobID, first.ID)
	equal(t, put(client.Put(background, "orders", "y", elapse.Key("4711"), elapse.In(time.Hour))).Outcome, elapse.Replaced)
	equal(t, word(client.Reschedule(background, "orders", "4711", elapse.In(2*time.Hour))), elapse.Rescheduled)
	moment := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	equal(t, word(client.Reschedule(background, "orders", "4711", elapse.At(moment))), elapse.Rescheduled)
	equal(t, look(client.Lookup(background, "orders", "4711")).Due.UTC(), moment)
	equal(t, word(client.Cancel(background, "orders", "4711")), elapse.Removed)
	equal(t, word(client.Cancel(background, "orders", "4711")), elapse.Gone)
	if look(client.Lookup(background, "orders", "4711")) != nil {
		t.Fatal("a job that was cancelled is shown")
	}
	every := put(client.Put(background, "cron", "x", elapse.Every(time.Minute)))
	put(client.Put(background, "cron", "x", elapse.Cron("0 9 * * mon", "Europe/Berlin"), elapse.Key("weekly")))
	equal(t, look(client.LookupID(background, every.ID)).Recurring, true)
	equal(t, word(client.CancelID(background, every.ID)), elapse.Removed)
	put(client.Put(background, "index", "x", elapse.Key("p"), elapse.In(time.Minute), elapse.Debounce(time.Hour)))
	token := put(client.Put(background, "bills", "x", elapse.TokenFor("bill-9", time.Minute)))
	again := put(client.Put(background, "bills", "x", elapse.Token("bill-9")))
	equal(t, again.ID, token.ID)
	equal(t, again.Outcome, elapse.Known)
}

func TestManyAndLists(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	requests := make([]*elapse.Request, 0, 1200)
	for range make([]int, 1199) {
		requests = append(requests, elapse.Put("many", "x", elapse.In(time.Hour), elapse.Tag("spring")))
	}
	requests = append(requests, elapse.Put("many", "x", elapse.In(time.Hour), elapse.Key("k")))
	results := must[[]elapse.PutResult](t)(client.PutMany(background, requests...))
	seen := map[int64]bool{}
	for _, result := range results {
		equal(t, result.Outcome, elapse.Scheduled)
		seen[result.ID] = true
	}
	equal(t, len(seen), 1200)
	keys := 0
	jobs := client.List(background, "many", elapse.Selection{State: elapse.StateDelayed, Keys: true})
	for jobs.Next() {
		delete(seen, jobs.Job().ID)
		if jobs.Job().Key == "k" {
			keys++
		}
	}
	works(t, jobs.Err())
	equal(t, len(seen), 0)
	equal(t, keys, 1)

	// One that is refused does not hinder the others.
	results, err := client.PutMany(background, elapse.Put("many", "x"), elapse.Put(strings.Repeat("t", 201), "x"),
		elapse.Put("many", make(chan int)), elapse.Cancel("many", "k"), elapse.Put("many", "y"))
	isError(t, err, elapse.ErrInvalid)
	equal(t, results[0].Outcome, elapse.Scheduled)
	isError(t, results[1].Err, elapse.ErrInvalid)
	isError(t, results[2].Err, elapse.ErrInvalid)
	isError(t, results[3].Err, elapse.ErrInvalid)
	equal(t, results[4].Outcome, elapse.Scheduled)

	stats := must[*elapse.Stats](t)(client.Stats(background, "many"))
	equal(t, stats.Delayed, 1200)
	equal(t, stats.Ready, 2)
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "")).All["delayed"], 1200)
	equal(t, strings.Join(must[[]string](t)(client.Tubes(background)), " "), "many")
	removed, running, err := client.CancelAll(background, "many", elapse.Selection{Tag: "spring"})
	works(t, err)
	equal(t, removed, 1199)
	equal(t, running, 0)
	words := must[[]elapse.Outcome](t)(client.CancelMany(background, "many", "k", "l"))
	equal(t, words[0], elapse.Removed)
	equal(t, words[1], elapse.Gone)
	equal(t, must[elapse.Outcome](t)(client.Pause(background, "many", time.Minute)), elapse.OK)
	if left := must[*elapse.Stats](t)(client.Stats(background, "many")).PauseLeft; left <= 0 || left > time.Minute {
		t.Fatalf("the pause has %v left", left)
	}
	for _, limits := range []elapse.Limits{{Concurrency: 3}, {Rate: 10, Per: time.Second, Burst: 2},
		{Concurrency: 3, Rate: 10, Per: time.Second, Burst: 2, GroupConcurrency: 2, GroupRate: 5, GroupPer: time.Minute,
			GroupBurst: 3, GroupOrder: true, Buried: 100, BuriedAge: time.Hour}, {}} {
		works(t, client.SetLimits(background, "many", limits))
		got := must[elapse.Limits](t)(client.Limits(background, "many"))
		equal(t, fmt.Sprint(got), fmt.Sprint(limits))
	}
	stats = must[*elapse.Stats](t)(client.Stats(background, "many"))
	equal(t, stats.HeldBy, "")
	if number, ok := stats.All["held_by"]; ok {
		t.Fatalf("held_by is a number: %d", number)
	}
	works(t, client.SetLimits(background, "many", elapse.Limits{Concurrency: 1}))
	equal(t, must[*elapse.Stats](t)(client.Stats(background, "many")).HeldBy, "concurrency")
	works(t, client.SetLimits(background, "many", elapse.Limits{}))
	isError(t, client.SetLimits(background, "many", elapse.Limits{Burst: 2}), elapse.ErrInvalid)
	isError(t, client.SetLimits(background, "many", elapse.Limits{Concurrency: 1, GroupPer: time.Second}), elapse.ErrInvalid)
	isError(t, client.SetLimits(background, "many", elapse.Limits{Others: map[string]uint32{"HORSES": 2}}), elapse.ErrInvalid)
	equal(t, must[int64](t)(client.Kick(background, "many", 5)), 0)
}

func TestGroups(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	const tube = "held"
	works(t, client.SetLimits(background, tube, elapse.Limits{GroupConcurrency: 1}))
	var requests []*elapse.Request
	for number := range make([]int, 250) { // more than a page has
		requests = append(requests, elapse.Put(tube, "x", elapse.In(time.Hour), elapse.Group(fmt.Sprint("later ", number))))
	}
	for _, group := range []string{"ann", "ann", "bob"} {
		requests = append(requests, elapse.Put(tube, "x", elapse.Group(group)))
	}
	must[[]elapse.PutResult](t)(client.PutMany(background, requests...))
	r := start(t, client, elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, tube, func(ctx context.Context, _ *elapse.Job[string]) error {
			<-ctx.Done()
			return ctx.Err()
		})
	})
	var ann elapse.GroupState
	for ann.Running == 0 { // until the worker has the first of them
		groups := must[[]elapse.GroupState](t)(client.Groups(background, tube, true))
		equal(t, len(groups), 1)
		ann = groups[0]
	}
	ann.Overdue = 0
	equal(t, ann, elapse.GroupState{Group: "ann", Ready: 1, Running: 1, Held: 1, HeldBy: "group_concurrency"})
	seen := map[string]bool{}
	for _, group := range must[[]elapse.GroupState](t)(client.Groups(background, tube, false)) {
		seen[group.Group] = true
		equal(t, group.Delayed+group.Ready+group.Running > 0, true)
	}
	equal(t, len(seen), 252)
	equal(t, len(must[[]elapse.GroupState](t)(client.Groups(background, "nowhere", false))), 0)
	must[elapse.Outcome](t)(client.Pause(background, tube, time.Hour))
	_, _, err := client.CancelAll(background, tube, elapse.Selection{})
	works(t, err)
	r.finish(t)
}

func TestTransaction(t *testing.T) {
	client := elapsetest.Start(t).Client(t)
	transact := must[[]elapse.Result](t)
	results := transact(client.Transaction(background, elapse.Put("a", "1", elapse.Key("k"), elapse.In(time.Hour)),
		elapse.Reschedule("a", "k", elapse.In(time.Minute)), elapse.Cancel("a", "k", "l"),
		elapse.Put("b", "2", elapse.Key("m")), elapse.Put("b", "3", elapse.Key("m"), elapse.FailKey())))
	equal(t, results[0].Outcome, elapse.Scheduled)
	equal(t, results[1].Outcome, elapse.Rescheduled)
	equal(t, results[2].Outcomes[0], elapse.Removed)
	equal(t, results[2].Outcomes[1], elapse.Gone)
	isError(t, results[4].Err, elapse.ErrBusyKey)

	_, err := client.Transaction(background, elapse.Put("c", "1"), elapse.Put(strings.Repeat("t", 201), "2"))
	isError(t, err, elapse.ErrInvalid)
	if must[*elapse.Stats](t)(client.Stats(background, "c")) != nil {
		t.Fatal("half a transaction was done")
	}
	_, err = client.Transaction(background, elapse.Put("c", "1"), elapse.Cancel("c"))
	isError(t, err, elapse.ErrInvalid)
	_, err = client.Transaction(background, elapse.Reschedule("c", "k", elapse.Key("no")))
	isError(t, err, elapse.ErrInvalid)
}

func TestClockOfTests(t *testing.T) {
	server := elapsetest.Start(t)
	client := server.Client(t)
	put := must[elapse.PutResult](t)(client.Put(background, "orders", "x", elapse.In(30*time.Minute)))
	server.Advance(t, 30*time.Minute)
	for state(t, client, put.ID).State == elapse.StateDelayed {
		time.Sleep(time.Millisecond) // the thread of the queue has to look at its clock
	}
	equal(t, state(t, client, put.ID).State, elapse.StateReady)
}

func TestPasswordsAndNames(t *testing.T) {
	passwords := t.TempDir() + "/passwords"
	if err := os.WriteFile(passwords, []byte("a-password-that-is-long-enough\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := elapsetest.Start(t, "--auth", passwords)
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{server.Address},
		Password: "a-password-that-is-long-enough"}))
	defer client.Close()
	works(t, client.Ping(background))
	wrong := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{server.Address}, Password: "wrong"}))
	defer wrong.Close()
	isError(t, wrong.Ping(background), elapse.ErrWrongPassword)
	isError(t, server.Client(t).Ping(background), elapse.ErrNoAuth)
}

func TestEmptyAddressIsRefused(t *testing.T) {
	for _, addresses := range [][]string{{""}, {"127.0.0.1:11300", " "}} {
		_, err := elapse.Open(elapse.Config{Addresses: addresses})
		isError(t, err, elapse.ErrInvalid)
		if want := fmt.Sprintf("Addresses[%d] is empty", len(addresses)-1); !strings.Contains(err.Error(), want) {
			t.Fatalf("%v does not say %q", err, want)
		}
	}
}

func TestNoServer(t *testing.T) {
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	address := listener.Addr().String()
	listener.Close()
	nobody := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{address}, RetryFor: 100 * time.Millisecond}))
	_, err := nobody.Put(background, "a", "x")
	isError(t, err, elapse.ErrUnavailable)
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = nobody.Put(ctx, "a", "x")
	isError(t, err, elapse.ErrUnavailable)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v does not say that the context was cancelled", err)
	}
	server := elapsetest.Start(t)
	several := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{address, server.Address}}))
	works(t, several.Ping(background))
	several.Close()
	isError(t, several.Ping(background), elapse.ErrInvalid)
	for _, config := range []elapse.Config{{RetryFor: -1}, {RetryFor: 10 * time.Minute}, {MaxConnections: -1}} {
		_, err := elapse.Open(config)
		isError(t, err, elapse.ErrInvalid)
	}
}

// silentServer takes connections and bytes, and never answers.
func silentServer(t *testing.T) string {
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() }) // else the garbage collector closes it
			// SETNAME is answered, so that the connection is made.
			buffer := make([]byte, 4096)
			_, _ = conn.Read(buffer)
			_, _ = conn.Write([]byte("+OK\r\n"))
		}
	}()
	return listener.Addr().String()
}

func TestUncertain(t *testing.T) {
	t.Parallel()
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{silentServer(t)}}))
	defer client.Close()
	var group sync.WaitGroup
	for _, call := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := client.Put(ctx, "a", "x"); return err },
		func(ctx context.Context) error { _, err := client.Kick(ctx, "a", 1); return err },
		func(ctx context.Context) error { _, err := client.PutMany(ctx, elapse.Put("a", "x")); return err },
		func(ctx context.Context) error {
			_, err := client.Transaction(ctx, elapse.Put("a", "x"), elapse.Cancel("a", "k"))
			return err
		},
	} {
		group.Add(1)
		go func(call func(ctx context.Context) error) {
			defer group.Done()
			// So long that a machine that stands still does not keep the command from being sent.
			ctx, cancel := context.WithTimeout(background, 3*time.Second)
			defer cancel()
			if err := call(ctx); !errors.Is(err, elapse.ErrUncertain) {
				t.Errorf("got %v, want %v", err, elapse.ErrUncertain)
			}
		}(call)
	}
	group.Wait()
}

func TestHeadersOfEachPut(t *testing.T) {
	server := elapsetest.Start(t)
	type key struct{}
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{server.Address},
		Headers: func(ctx context.Context) map[string]string {
			trace, _ := ctx.Value(key{}).(string)
			return map[string]string{"traceparent": trace, "who": "config"}
		}}))
	defer client.Close()
	ctx := context.WithValue(background, key{}, "00-7")
	put := must[elapse.PutResult](t)(client.Put(ctx, "a", "x", elapse.Headers(map[string]string{"who": "put"})))
	job := must[*elapse.JobState](t)(client.LookupID(background, put.ID))
	equal(t, job.Headers["traceparent"], "00-7")
	equal(t, job.Headers["who"], "put")
}

// standIn is a Telemetry that writes down how it is called.
type standIn struct {
	mutex sync.Mutex
	said  []string
}

type traceKey struct{}

func (s *standIn) say(format string, arguments ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.said = append(s.said, fmt.Sprintf(format, arguments...))
}

func (s *standIn) Inject(ctx context.Context, headers map[string]string) {
	if trace, ok := ctx.Value(traceKey{}).(string); ok {
		headers["traceparent"] = trace
	}
}

func (s *standIn) Start(ctx context.Context, job *elapse.JobInfo) (context.Context, func(error)) {
	s.say("start %s", job.Headers["traceparent"])
	return context.WithValue(ctx, traceKey{}, job.Headers["traceparent"]+"-1"), func(err error) { s.say("end %v", err) }
}

func (s *standIn) Handled(job *elapse.JobInfo, ending elapse.Ending, took time.Duration) {
	if took <= 0 {
		s.say("it took %v", took)
	}
	s.say("%s %s", job.Tube, ending)
	panic("what panics here ends nothing")
}

// TestTelemetry: a trace goes from a put to its handler, and from the put of that handler to the next one.
func TestTelemetry(t *testing.T) {
	server := elapsetest.Start(t)
	seen := &standIn{}
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{server.Address}, Telemetry: seen,
		Headers: func(context.Context) map[string]string { return map[string]string{"who": "config"} }}))
	defer client.Close()
	r := start(t, client, elapse.WorkerConfig{Concurrency: 1, Before: func(ctx context.Context, _ *elapse.JobInfo) context.Context {
		seen.say("before %v", ctx.Value(traceKey{}))
		return ctx
	}}, func(w *elapse.Worker) {
		elapse.Handle(w, "one", func(ctx context.Context, job *elapse.Job[string]) error {
			equal(t, job.Headers["who"], "config")
			_, err := job.Done(ctx, elapse.Put("two", "x", elapse.Attempts(1)))
			return err
		})
		elapse.Handle(w, "two", func(context.Context, *elapse.Job[string]) error { return errors.New("no route") })
	})
	must[elapse.PutResult](t)(client.Put(context.WithValue(background, traceKey{}, "00"), "one", "x"))
	equal(t, next(t, r.endings), elapse.EndDone)
	equal(t, next(t, r.endings), elapse.EndFailed)
	r.finish(t)
	equal(t, strings.Join(seen.said, ", "),
		"start 00, before 00-1, end <nil>, one done, start 00-1, before 00-1-1, end no route, two failed")
}

// A put that a server refuses because it drains goes to the next server, and so does the put after it; if there is none, it is
// tried again where it was.
func TestServersThatDrain(t *testing.T) {
	const draining = "-DRAINING the server takes no new jobs\r\n"
	ends, other := &script{}, &script{}
	drains := fakeServer(t, func(words []string) string { ends.answer(words); return draining })
	takes := fakeServer(t, func(words []string) string { other.answer(words); return array(":1\r\n", "+scheduled\r\n") })
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{drains, takes}}))
	t.Cleanup(client.Close)
	put(t, client, "t", "one")
	put(t, client, "t", "two")
	equal(t, len(ends.lines("PUT")), 1)
	equal(t, len(other.lines("PUT")), 2)

	for _, addresses := range [][]string{{drains}, {drains, drains}} {
		alone := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: addresses, RetryFor: 300 * time.Millisecond}))
		t.Cleanup(alone.Close)
		_, err := alone.Put(background, "t", "three")
		isError(t, err, elapse.ErrUnavailable)
	}
}
