// Package elapse is the client of Elapse, a durable job queue with timers.
//
// A Client puts jobs, changes and cancels them by key, and looks at them. A Worker hands jobs to
// handlers. Connections speak RESP, the protocol of Redis, by the package redigo.
//
//	client, err := elapse.Open(elapse.Config{})
//	result, err := client.Put(ctx, "orders", order, elapse.In(30*time.Minute), elapse.Key("4711"))
//	outcome, err := client.Cancel(ctx, "orders", "4711")
//
// # What may go wrong
//
// Each call is tried again until Config.RetryFor is over, or the deadline of its context: after a lost
// connection, at the next address, and after the answers TRYAGAIN, DRAINING and UNKNOWN. A put carries a
// token, so a put that is sent again is stored once. A call that was sent, that has no answer, and that
// would not be safe to send again, is an error for which errors.Is(err, ErrUncertain) is true. All errors
// of this package are *Error; compare them by errors.Is with the variables whose names begin with Err.
//
// # Jobs may be done twice
//
// A worker that dies after its work and before its answer has done a job that another worker gets again.
// Make the work safe to repeat, or let Job.Done put the next step: it happens exactly once.
package elapse
