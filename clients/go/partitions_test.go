package elapse_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"elapse"
)

// fakeQueue is a fake server with jobs of the tube t, whose leases last a minute. Of ACK and NACK it answers what its script
// has for each job.
type fakeQueue struct {
	script
	hands   chan []string // each is what one RESERVE hands out
	before  func()        // is called before jobs are handed out, if it is not nil
	address string
}

func startFakeQueue(t testing.TB, answers map[string][]string) *fakeQueue {
	q := &fakeQueue{script: script{answers: answers}, hands: make(chan []string, 10)}
	q.address = fakeServer(t, func(words []string) string {
		switch words[0] {
		case "RESERVE":
			select {
			case jobs := <-q.hands:
				if q.before != nil {
					q.before()
				}
				return array(jobs...)
			case <-time.After(50 * time.Millisecond):
				return array()
			}
		case "ACK", "NACK":
			var ids []string
			for at := 1; at+1 < len(words) && strings.HasPrefix(words[at+1], "lease-"); at += 2 {
				ids = append(ids, words[at])
			}
			answer := q.answer(words, ids...)
			if words[0] == "NACK" && len(ids) == 1 {
				answer = strings.TrimPrefix(answer, "*1\r\n") // one pair answers one word
			}
			return answer
		}
		return "+OK\r\n"
	})
	return q
}

// jobs are those with these ids, as RESERVE hands them out.
func jobs(ids ...int) []string {
	var all []string
	for _, id := range ids {
		all = append(all, array(fmt.Sprintf(":%d\r\n", id), fmt.Sprintf("$7\r\nlease-%d\r\n", id), "$1\r\nt\r\n", "$-1\r\n",
			fmt.Sprintf("$1\r\n%d\r\n", id), ":1700000000000\r\n", ":1\r\n", ":0\r\n", array("$3\r\nttr\r\n", ":60000\r\n")))
	}
	return all
}

// lines are the commands that were said and have this text.
func (s *script) lines(text string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []string
	for _, line := range s.said {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// An acknowledgement that a partition did not answer is sent again, without those that were answered, and other jobs do not wait.
func TestAcknowledgementsOfPartitions(t *testing.T) {
	q := startFakeQueue(t, map[string][]string{"1": {"+ok\r\n"}, "2": {unknown, tryAgain}, "3": {"+ok\r\n"}})
	r := start(t, open(t, q.address), elapse.WorkerConfig{}, func(w *elapse.Worker) {
		elapse.Handle(w, "t", func(context.Context, *elapse.Job[string]) error { return nil })
	})
	q.hands <- jobs(1, 2)
	equal(t, next(t, r.endings), elapse.EndDone)
	q.hands <- jobs(3)
	equal(t, next(t, r.endings), elapse.EndDone)
	equal(t, len(q.lines("lease-3")), 1) // that was job 3
	q.mutex.Lock()
	q.answers["2"] = []string{"+ok\r\n"}
	q.mutex.Unlock()
	equal(t, next(t, r.endings), elapse.EndDone)
	r.finish(t)
	equal(t, len(q.lines("lease-1")), 1)
	for _, line := range q.lines("lease-2")[1:] {
		equal(t, line, "ACK 2 lease-2")
	}
}

// What a worker could not tell a partition is logged.
func TestAcknowledgementsThatNobodyAnswers(t *testing.T) {
	q := startFakeQueue(t, map[string][]string{"1": {tryAgain}})
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{q.address}, RetryFor: 200 * time.Millisecond}))
	t.Cleanup(client.Close)
	logger := records{lines: make(chan string, 100)}
	endings := make(chan elapse.Ending, 1)
	worker := elapse.NewWorker(client, elapse.WorkerConfig{Logger: logger,
		After: func(_ *elapse.JobInfo, ending elapse.Ending) { endings <- ending }})
	elapse.Handle(worker, "t", func(context.Context, *elapse.Job[string]) error { return nil })
	ctx, stop := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	q.hands <- jobs(1)
	equal(t, next(t, endings), elapse.EndLost)
	const want = "elapse: jobs that are done could not be acknowledged; they come again when their leases end jobs 1 error elapse: UN"
	if line := next(t, logger.lines); !strings.HasPrefix(line, want) {
		t.Fatalf("got %q, want %q", line, want)
	}
	stop()
	works(t, next(t, ended))
}

// A worker that ends tells a partition again that did not answer, or, if it has no time for that, logs it.
func TestJobsOfPartitionsAreGivenBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begins  bool // the handlers begin before the worker is to stop
		options string
		line    string
	}{
		"those whose handlers hang":       {true, "ERROR the worker stopped before the handler ended", "elapse: jobs could not be given back"},
		"those whose handlers do not run": {false, "IN 0s", "elapse: jobs that had not begun could not be given back"},
	} {
		test := test
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := startFakeQueue(t, map[string][]string{"1": {"+ok\r\n"}, "2": {tryAgain, unknown, "+ok\r\n"}})
			logger := records{lines: make(chan string, 100)}
			worker := elapse.NewWorker(open(t, q.address), elapse.WorkerConfig{Logger: logger, ShutdownLimit: time.Millisecond})
			begun, release := make(chan bool, 2), make(chan bool)
			elapse.Handle(worker, "t", func(context.Context, *elapse.Job[string]) error {
				begun <- true
				<-release
				return nil
			})
			ctx, stop := context.WithCancel(background)
			ended := make(chan error, 1)
			go func() { ended <- worker.Run(ctx) }()
			if test.begins {
				q.hands <- jobs(1, 2)
				next(t, begun)
				next(t, begun)
				stop()
			} else {
				q.before = stop
				q.hands <- jobs(1, 2)
			}
			works(t, next(t, ended))
			close(release)
			again := q.lines("NACK 2 lease-2 " + test.options)
			logged := false
			for len(logger.lines) > 0 {
				logged = strings.HasPrefix(<-logger.lines, test.line) || logged
			}
			if len(again) == 0 && !logged {
				t.Fatal("the worker neither tells the partition nor the log")
			}
			if told := q.lines("lease-1"); len(told) > 1 {
				t.Fatalf("the partition that answered is told again: %q", told)
			}
		})
	}
}
