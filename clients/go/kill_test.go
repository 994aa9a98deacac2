package elapse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"elapse"
	"elapse/elapsetest"
)

// long returns the size of a test: the short one, or, with ELAPSE_LONG, the long one.
func long(short, size int) int {
	if os.Getenv("ELAPSE_LONG") != "" {
		return size
	}
	return short
}

// killer is a server with a directory that is killed again and again, and started at the same address.
type killer struct {
	stop, ended chan struct{}
	kills       atomic.Int64
}

// lastingAddress returns an address of loopback whose port is free. A socket keeps it until the test ends: the system
// gives the port to nobody who wants any, and a server that is told it can listen there, again and again.
func lastingAddress(t *testing.T) string {
	holder := must[int](t)(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { syscall.Close(holder) })
	works(t, syscall.SetsockoptInt(holder, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	works(t, syscall.Bind(holder, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name := must[syscall.Sockaddr](t)(syscall.Getsockname(holder))
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

func startKiller(t *testing.T, every time.Duration) (*killer, string) {
	data := t.TempDir()
	arguments := []string{"--data", data, "--segment-bits", "22"}
	server := elapsetest.StartWith(t, lastingAddress(t), arguments...)
	k := &killer{stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(k.ended)
		for pause := every; ; {
			select {
			case <-k.stop:
				return
			case <-time.After(pause):
			}
			server.Kill()
			k.kills.Add(1)
			began := time.Now()
			server = elapsetest.StartWith(t, server.Address, arguments...)
			// On a machine where a start takes long, a server that lives shorter would do nothing.
			if pause = time.Since(began); pause < every {
				pause = every
			}
		}
	}()
	return k, server.Address
}

// halt ends the killing; the server goes on.
func (k *killer) halt(t testing.TB) {
	t.Helper()
	close(k.stop)
	<-k.ended
	if k.kills.Load() == 0 {
		t.Fatal("the server was never killed")
	}
}

func open(t testing.TB, address string) *elapse.Client {
	t.Helper()
	client := must[*elapse.Client](t)(elapse.Open(elapse.Config{Addresses: []string{address}, RetryFor: time.Minute}))
	t.Cleanup(client.Close)
	return client
}

// putAll puts the jobs 0 to count - 1: a half one at a time, a half 10 at a time, from several goroutines.
func putAll(t *testing.T, client *elapse.Client, tube string, count int, paused time.Duration) {
	const writers = 4
	var group sync.WaitGroup
	for writer := range make([]int, writers) {
		group.Add(1)
		go func(writer int) {
			defer group.Done()
			var some []*elapse.Request
			for number := writer; number < count; number += writers {
				body := strconv.Itoa(number)
				var err error
				if number%(2*writers) < writers {
					_, err = client.Put(background, tube, body, elapse.TTR(5*time.Second))
				} else if some = append(some, elapse.Put(tube, body, elapse.TTR(5*time.Second))); len(some) == 10 ||
					number+2*writers >= count {
					_, err = client.PutMany(background, some...)
					some = nil
				}
				if err != nil {
					t.Errorf("job %d: %v", number, err)
					return
				}
				time.Sleep(paused)
			}
		}(writer)
	}
	group.Wait()
}

// hasEachOnce fails unless the bodies of the jobs of a tube are the numbers below count, each once.
func hasEachOnce(t *testing.T, client *elapse.Client, tube string, count int) {
	t.Helper()
	seen := map[string]int{}
	jobs := client.List(background, tube, elapse.Selection{})
	for jobs.Next() {
		seen[string(state(t, client, jobs.Job().ID).Body)]++
	}
	works(t, jobs.Err())
	for number := range make([]int, count) {
		equal(t, seen[strconv.Itoa(number)], 1)
	}
	equal(t, len(seen), count)
}

// With a server that is killed each second no put is lost, and none doubles.
func TestKilledServerPuts(t *testing.T) {
	count := long(400, 10_000)
	k, address := startKiller(t, time.Duration(long(60, 1000))*time.Millisecond)
	client := open(t, address)
	putAll(t, client, "puts", count, 3*time.Millisecond)
	k.halt(t)
	hasEachOnce(t, client, "puts", count)
	t.Logf("%d puts, %d kills: 0 lost, 0 doubled", count, k.kills.Load())
}

// With a server that is killed each second every job is done at least once.
func TestKilledServerWork(t *testing.T) {
	count := long(300, 10_000)
	k, address := startKiller(t, time.Duration(long(60, 1000))*time.Millisecond)
	client := open(t, address)
	var mutex sync.Mutex
	done := map[string]int{}
	calls := 0
	all := make(chan struct{})
	r := start(t, client, elapse.WorkerConfig{Concurrency: 16}, func(w *elapse.Worker) {
		elapse.Handle(w, "work", func(_ context.Context, job *elapse.Job[string]) error {
			mutex.Lock()
			defer mutex.Unlock()
			calls++
			if done[job.Body]++; done[job.Body] == 1 && len(done) == count {
				close(all)
			}
			return nil
		})
	})
	putAll(t, client, "work", count, 4*time.Millisecond)
	k.halt(t)
	select {
	case <-all:
	case <-time.After(10 * patient):
		t.Fatalf("%d of %d jobs were done", len(done), count)
	}
	r.finish(t)
	t.Logf("%d jobs, %d kills: %d repeats", count, k.kills.Load(), calls-count)
}

// chainWorker names, in the environment of a process of its own, the server that a worker of chains works for.
const chainWorker = "ELAPSE_CHAIN_WORKER"

// TestMain is also the program of the workers of chains.
func TestMain(m *testing.M) {
	if address := os.Getenv(chainWorker); address != "" {
		workChains(address)
		return
	}
	os.Exit(m.Run())
}

// stepOptions are those of each step of a chain.
var stepOptions = []elapse.PutOption{elapse.TTR(time.Second), elapse.Backoff(0, 50*time.Millisecond), elapse.Attempts(0)}

// workChains does steps until it is killed. Some fail before the step is done, and some behind it.
func workChains(address string) {
	client, err := elapse.Open(elapse.Config{Addresses: []string{address}, RetryFor: time.Minute})
	if err != nil {
		panic(err)
	}
	worker := elapse.NewWorker(client, elapse.WorkerConfig{Concurrency: 8, Logger: quiet{}})
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	var mutex sync.Mutex
	chance := func() int {
		mutex.Lock()
		defer mutex.Unlock()
		return random.Intn(8)
	}
	for _, step := range [][2]string{{"one", "two"}, {"two", "three"}, {"three", "end"}} {
		following := step[1]
		elapse.Handle(worker, step[0], func(ctx context.Context, job *elapse.Job[string]) error {
			time.Sleep(10 * time.Millisecond)
			switch chance() {
			case 0:
				return errors.New("before the step")
			case 1:
				panic("before the step")
			}
			_, err := job.Done(ctx, elapse.Put(following, job.Body, stepOptions...))
			if chance() == 0 {
				panic("after the step")
			}
			return err
		})
	}
	if err := worker.Run(background); err != nil {
		panic(err)
	}
}

// killWorkers keeps a process of workChains running, and kills it again and again, until stop is closed. It counts
// how often.
func killWorkers(t *testing.T, address string, stop <-chan struct{}, kills *atomic.Int64) {
	for {
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), chainWorker+"="+address)
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := process.Start(); err != nil {
			t.Errorf("a worker cannot be started: %v", err)
			return
		}
		ended := false
		select {
		case <-stop:
			ended = true
		case <-time.After(time.Duration(200+rand.Intn(600)) * time.Millisecond):
		}
		_ = process.Process.Kill()
		_ = process.Wait()
		if ended {
			return
		}
		kills.Add(1)
	}
}

// Chains of three steps, with processes of workers that are killed at random, and a server that is killed each
// second: each chain ends exactly once.
func TestChainsWithKilledWorkers(t *testing.T) {
	count := long(400, 10_000)
	k, address := startKiller(t, time.Duration(long(60, 1000))*time.Millisecond)
	client := open(t, address)
	stop := make(chan struct{})
	var workers sync.WaitGroup
	var killed atomic.Int64
	for range make([]int, 2) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			killWorkers(t, address, stop, &killed)
		}()
	}
	begin := func(from, to int) {
		requests := make([]*elapse.Request, 0, to-from)
		for number := from; number < to; number++ {
			requests = append(requests, elapse.Put("one", fmt.Sprint(number), stepOptions...))
		}
		must[[]elapse.PutResult](t)(client.PutMany(background, requests...))
	}
	begin(0, count)
	for finish := time.Now().Add(10 * patient); ; {
		stats, err := client.Stats(background, "end")
		if err == nil && stats != nil && stats.Ready >= int64(count) {
			if killed.Load() > 0 && k.kills.Load() > 0 {
				break
			}
			// This process has stood still while the workers went on: more chains, until both were killed.
			begin(count, count+100)
			count += 100
		}
		if time.Now().After(finish) {
			t.Fatalf("the chains do not end: %+v", stats)
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	workers.Wait()
	k.halt(t)
	hasEachOnce(t, client, "end", count)
	if killed.Load() == 0 {
		t.Fatal("no worker was killed")
	}
	t.Logf("%d chains, %d kills of workers and %d of the server: each ended exactly once", count, killed.Load(), k.kills.Load())
}
