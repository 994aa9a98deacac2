package elapse_test

import (
	"context"
	"sync/atomic"
	"testing"

	"elapse"
	"elapse/elapsetest"
)

// benchServer is a server whose disk has what it answers.
func benchServer(b *testing.B) *elapse.Client {
	return elapsetest.StartWith(b, "127.0.0.1:0", "--data", b.TempDir()).Client(b)
}

// BenchmarkPut puts one job at a time.
func BenchmarkPut(b *testing.B) {
	client := benchServer(b)
	b.ResetTimer()
	for index := 0; index < b.N; index++ {
		put(b, client, "bench", "body")
	}
}

// BenchmarkPutMany puts 100 jobs at a time; an operation is one job.
func BenchmarkPutMany(b *testing.B) {
	client := benchServer(b)
	b.ResetTimer()
	putHundreds(b, client)
}

func putHundreds(b *testing.B, client *elapse.Client) {
	for left := b.N; left > 0; {
		var some []*elapse.Request
		for ; len(some) < 100 && left > 0; left-- {
			some = append(some, elapse.Put("bench", "body"))
		}
		must[[]elapse.PutResult](b)(client.PutMany(background, some...))
	}
}

// BenchmarkWork does jobs whose handlers do nothing, 100 at a time.
func BenchmarkWork(b *testing.B) {
	client := benchServer(b)
	putHundreds(b, client)
	ctx, stop := context.WithCancel(background)
	defer stop()
	var done atomic.Int64
	worker := elapse.NewWorker(client, elapse.WorkerConfig{Concurrency: 100,
		After: func(*elapse.JobInfo, elapse.Ending) {
			if done.Add(1) == int64(b.N) {
				b.StopTimer() // the end of a wait of RESERVE does not count
				stop()
			}
		}})
	elapse.Handle(worker, "bench", func(context.Context, *elapse.Job[[]byte]) error { return nil })
	b.ResetTimer()
	works(b, worker.Run(ctx))
}
