package elapse_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"elapse"
)

// killOwner kills the node that owns the queue, and returns when another one is the owner.
func killOwner(t testing.TB) {
	t.Helper()
	control := must[net.Conn](t)(net.Dial("tcp", os.Getenv("ELAPSE_CLUSTER_CONTROL")))
	defer control.Close()
	must[int](t)(fmt.Fprintln(control, "kill"))
	answer := must[string](t)(bufio.NewReader(control).ReadString('\n'))
	if !strings.HasPrefix(answer, "killed ") {
		t.Fatal(answer)
	}
}

// ledger is what was put, and how often it was done.
type ledger struct {
	mutex sync.Mutex
	puts  []string
	runs  map[string]int
	all   int
}

func (l *ledger) counts() (puts, runs int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.puts), l.all
}

// TestKilledOwner kills owner after owner of a cluster, while clients put and a worker works: no put is lost and
// none doubles, and the worker goes on at the next owner. clients/in_cluster.py starts the cluster.
func TestKilledOwner(t *testing.T) {
	addresses := os.Getenv("ELAPSE_CLUSTER")
	if addresses == "" {
		t.Skip("there is no cluster (clients/in_cluster.py starts one)")
	}
	const tube, kept, kills, putters = "work", "kept", 3, 4
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: strings.Split(addresses, ","), RetryFor: 2 * time.Minute}))
	t.Cleanup(client.Close)
	l := &ledger{runs: map[string]int{}}
	r := start(t, client, elapse.WorkerConfig{Concurrency: 4}, func(w *elapse.Worker) {
		elapse.Handle(w, tube, func(_ context.Context, job *elapse.Job[string]) error {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.runs[job.Body]++
			l.all++
			return nil
		})
	})
	over := make(chan struct{})
	var group sync.WaitGroup
	for putter := range make([]int, putters) {
		group.Add(1)
		go func(putter int) {
			defer group.Done()
			for number := 0; ; number++ {
				select {
				case <-over:
					return
				default:
				}
				name := fmt.Sprint(putter, "-", number)
				for _, where := range []string{tube, kept} {
					if _, err := client.Put(background, where, name, elapse.TTR(5*time.Second), elapse.Attempts(0), elapse.Backoff(0, 0)); err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
				l.mutex.Lock()
				l.puts = append(l.puts, name)
				l.mutex.Unlock()
			}
		}(putter)
	}
	until := func(what string, condition func(puts, runs int) bool) {
		t.Helper()
		for finish := time.Now().Add(10 * patient); !condition(l.counts()); time.Sleep(5 * time.Millisecond) {
			if t.Failed() || time.Now().After(finish) {
				t.Fatal("still not: " + what)
			}
		}
	}
	for killed := 0; ; killed++ {
		puts, runs := l.counts()
		until("puts and runs go on", func(p, r int) bool { return p >= puts+50 && r >= runs+50 })
		if killed == kills {
			break
		}
		killOwner(t)
	}
	close(over)
	group.Wait()
	until("each job is done", func(puts, _ int) bool {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return len(l.runs) == puts
	})
	r.finish(t)
	seen := map[string]int{}
	jobs := client.List(background, kept, elapse.Selection{})
	for jobs.Next() {
		seen[string(state(t, client, jobs.Job().ID).Body)]++
	}
	works(t, jobs.Err())
	for _, name := range l.puts {
		equal(t, seen[name], 1)
	}
	equal(t, len(seen), len(l.puts))
	t.Logf("%d puts twice, %d owners killed: 0 lost, 0 doubled, %d runs of handlers repeated", len(l.puts), kills, l.all-len(l.runs))
}
