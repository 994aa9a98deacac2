package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"elapse"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	client, err := elapse.Open(elapse.Config{Addresses: os.Args[1:]})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Put(ctx, "mails", "ann", elapse.In(10*time.Millisecond)); err != nil {
		log.Fatal(err)
	}
	worker := elapse.NewWorker(client, elapse.WorkerConfig{})
	elapse.Handle(worker, "mails", func(ctx context.Context, job *elapse.Job[string]) error {
		fmt.Println("a mail to", job.Body)
		stop()
		return nil
	})
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
