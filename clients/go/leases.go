package elapse

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
)

// pairs returns ids and leases in turn.
func pairs(all []*held) []any {
	result := make([]any, 0, 2*len(all))
	for _, h := range all {
		result = append(result, h.info.ID, h.info.Lease)
	}
	return result
}

// keepLeases begins all leases anew, at a third of the least TTR, in one command.
func (w *Worker) keepLeases(inner context.Context, stop <-chan struct{}) {
	var due time.Time // when leases are to be begun anew; zero: there is none
	for {
		if interval := w.interval(); interval == 0 {
			due = time.Time{}
		} else if next := time.Now().Add(interval); due.IsZero() || next.Before(due) {
			due = next // new jobs never put it off
		}
		var pause <-chan time.Time
		var timer *time.Timer
		if !due.IsZero() {
			timer = time.NewTimer(time.Until(due))
			pause = timer.C
		}
		select {
		case <-stop:
			return
		case <-w.woken:
		case <-pause:
			w.extendAll(inner)
			due = time.Time{}
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// interval returns a third of the least TTR, or 0 if there is no job.
func (w *Worker) interval() time.Duration {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var least time.Duration
	for h := range w.hands {
		if least == 0 || h.info.TTR < least {
			least = h.info.TTR
		}
	}
	if least > 0 && least < 3*shortestSleep {
		return shortestSleep
	}
	return least / 3
}

// extendAll begins the leases anew of all jobs whose handlers go on.
func (w *Worker) extendAll(inner context.Context) {
	var all []*held
	soonest := time.Now().Add(time.Hour)
	for _, h := range w.inHand() {
		h.mutex.Lock()
		if !h.idle {
			all = append(all, h)
			if h.ends.Before(soonest) {
				soonest = h.ends
			}
		}
		h.mutex.Unlock()
	}
	patience := time.Until(soonest) // afterwards a lease is lost
	if patience < shortestPatience {
		patience = shortestPatience
	}
	for begin := 0; begin < len(all); begin += pairsMost {
		end := begin + pairsMost
		if end > len(all) {
			end = len(all)
		}
		w.extendSome(inner, all[begin:end], patience)
	}
}

func (w *Worker) extendSome(inner context.Context, some []*held, patience time.Duration) {
	ctx, cancel := context.WithTimeout(inner, patience)
	defer cancel()
	sent := time.Now()
	value, err := w.client.do(ctx, command{"EXTEND", pairs(some), true})
	if err != nil {
		w.config.Logger.Warn("elapse: leases could not be begun anew", "error", err)
		value = nil
	}
	words, ok := value.([]any)
	if !ok {
		words = []any{value}
	}
	for index, h := range some {
		word := ""
		if index < len(words) {
			word, _ = redis.String(words[index], nil)
		}
		h.mutex.Lock()
		if word == string(OK) {
			h.ends = sent.Add(h.info.TTR)
		}
		lost := word == string(Gone) || time.Now().After(h.ends)
		h.mutex.Unlock()
		if word == "cancelled" {
			h.end(ErrCancelled)
		} else if lost {
			h.end(ErrLeaseLost)
		}
	}
}

// gatherAcks acknowledges jobs whose handlers returned: after 5 ms, when there are 100, or when no handler
// runs that could add one.
func (w *Worker) gatherAcks(inner context.Context, stop <-chan struct{}) {
	inner, cancel := context.WithCancel(inner)
	defer cancel()
	go func() {
		<-stop
		sleep(inner, lastWords)
		cancel()
	}()
	var batch []*held
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case h := <-w.acks:
			batch = append(batch, h)
			if len(batch) == 1 {
				timer.Reset(ackDelay)
			}
			if len(batch) < ackMost && (w.running.Load() > 0 || len(w.acks) > 0) {
				continue
			}
		case <-timer.C:
		case <-stop:
			for len(w.acks) > 0 {
				batch = append(batch, <-w.acks)
			}
			w.ack(inner, batch)
			return
		}
		w.ack(inner, batch)
		batch = nil
	}
}

// ack acknowledges jobs that are done.
func (w *Worker) ack(ctx context.Context, batch []*held) {
	if len(batch) == 0 {
		return
	}
	value, err := w.client.do(ctx, command{"ACK", pairs(batch), true})
	words, _ := value.([]any)
	for index, h := range batch {
		ending := EndLost
		if index < len(words) {
			if word, _ := redis.String(words[index], nil); word == string(OK) {
				ending = EndDone
			}
		}
		w.letGo(h, ending)
	}
	if err != nil {
		w.config.Logger.Error("elapse: jobs that are done could not be acknowledged; they come again when their leases end",
			"jobs", len(batch), "error", err)
	}
}

// finish waits for the handlers that run, and gives back what they do not finish in time.
func (w *Worker) finish(inner context.Context) {
	if w.await(w.config.ShutdownLimit, w.hurry) {
		return
	}
	for _, h := range w.inHand() {
		h.end(ErrStopped)
	}
	if w.await(stopGrace, nil) {
		return
	}
	var late []*held
	for _, h := range w.inHand() {
		if h.settle(EndFailed) {
			late = append(late, h)
		}
	}
	if len(late) == 0 {
		return
	}
	w.config.Logger.Error("elapse: handlers did not end; their jobs have failed", "jobs", len(late))
	ctx, cancel := context.WithTimeout(inner, lastWords)
	defer cancel()
	for begin := 0; begin < len(late); begin += pairsMost {
		end := begin + pairsMost
		if end > len(late) {
			end = len(late)
		}
		arguments := append(pairs(late[begin:end]), "ERROR", "the worker stopped before the handler ended")
		if _, err := w.client.do(ctx, command{"NACK", arguments, true}); err != nil {
			w.config.Logger.Error("elapse: jobs could not be given back", "error", err)
		}
	}
}

// await returns whether all handlers have returned, and their failures are told, within the limit and before hurry is
// closed.
func (w *Worker) await(limit time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for taken := 0; taken < cap(w.places); taken++ {
		select {
		case w.places <- struct{}{}:
			continue
		case <-hurry:
		case <-timer.C:
		}
		for ; taken > 0; taken-- {
			<-w.places
		}
		return false
	}
	return true
}

// giveBack returns jobs whose handlers have not begun. It counts as no attempt.
func (w *Worker) giveBack(inner context.Context, jobs []*JobInfo) {
	ctx, cancel := context.WithTimeout(inner, lastWords)
	defer cancel()
	var arguments []any
	for _, job := range jobs {
		arguments = append(arguments, job.ID, job.Lease)
	}
	arguments = append(arguments, "IN", "0s")
	if _, err := w.client.do(ctx, command{"NACK", arguments, true}); err != nil {
		w.config.Logger.Error("elapse: jobs that had not begun could not be given back", "error", err)
	}
}
