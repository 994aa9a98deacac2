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

// leases makes the command about the leases of these jobs, each of which gets a word of its own.
func leases(name string, jobs []*JobInfo, after ...any) parts {
	all := parts{name: name, after: after}
	for _, job := range jobs {
		all.things = append(all.things, []any{job.ID, job.Lease})
	}
	return all
}

// inPieces calls a function with so many at a time as one command may name.
func inPieces[T any](all []T, call func([]T)) {
	for len(all) > pairsMost {
		call(all[:pairsMost])
		all = all[pairsMost:]
	}
	if len(all) > 0 {
		call(all)
	}
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
	inPieces(all, func(some []*held) { w.extendSome(inner, some, patience) })
}

func (w *Worker) extendSome(inner context.Context, some []*held, patience time.Duration) {
	ctx, cancel := context.WithTimeout(inner, patience)
	defer cancel()
	sent := time.Now()
	value, err := w.client.do(ctx, command{name: "EXTEND", arguments: pairs(some), repeatable: true})
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
// runs that could add one. What a partition of a cluster did not answer is sent again beside that, so that it keeps no
// other job waiting.
func (w *Worker) gatherAcks(inner context.Context, stop <-chan struct{}) {
	inner, cancel := context.WithCancel(inner)
	defer cancel()
	go func() {
		<-stop
		sleep(inner, lastWords)
		cancel()
	}()
	var batch, unanswered []*held
	var again chan struct{} // closed when those that are sent again have their endings; nil: there are none
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ended := false; !ended; {
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
		case <-again:
			again = nil
		case <-stop:
			for len(w.acks) > 0 {
				batch = append(batch, <-w.acks)
			}
			ended = true
		}
		inPieces(batch, func(some []*held) { unanswered = append(unanswered, w.ack(inner, some)...) })
		batch = nil
		if len(unanswered) > 0 && again == nil {
			again = make(chan struct{})
			go func(some []*held, done chan<- struct{}) {
				defer close(done)
				w.ackAgain(inner, some)
			}(unanswered, again)
			unanswered = nil
		}
	}
	if again != nil {
		<-again
	}
	w.ackAgain(inner, unanswered)
}

// ack acknowledges jobs that are done. It returns those that a partition did not answer.
func (w *Worker) ack(ctx context.Context, batch []*held) []*held {
	value, err := w.client.do(ctx, command{name: "ACK", arguments: pairs(batch), repeatable: true})
	words, ok := value.([]any)
	if err == nil && (!ok || len(words) != len(batch)) {
		err = unreadable("ACK", value)
	}
	var answered, unanswered []*held
	var answers []answer
	for index, h := range batch {
		one := answer{err: err}
		if err == nil {
			one.word, one.err = readWord("ACK", words[index])
		}
		if one.err != nil && fateOf(one.err) != final {
			unanswered = append(unanswered, h)
			continue
		}
		answered, answers = append(answered, h), append(answers, one)
	}
	w.acknowledged(answered, answers)
	return unanswered
}

// ackAgain acknowledges jobs that a partition did not answer, until it does or the time of a call is over.
func (w *Worker) ackAgain(ctx context.Context, unanswered []*held) {
	inPieces(unanswered, func(some []*held) {
		jobs := make([]*JobInfo, len(some))
		for index, h := range some {
			jobs[index] = h.info
		}
		w.acknowledged(some, w.client.doParts(ctx, leases("ACK", jobs)))
	})
}

// acknowledged lets jobs go that are done, with what the server said of each.
func (w *Worker) acknowledged(some []*held, answers []answer) {
	lost, failure := 0, error(nil)
	for index, h := range some {
		ending := EndLost
		if answers[index].word == OK {
			ending = EndDone
		}
		if err := answers[index].err; err != nil {
			lost, failure = lost+1, err
		}
		w.letGo(h, ending)
	}
	if failure != nil {
		w.config.Logger.Error("elapse: jobs that are done could not be acknowledged; they come again when their leases end",
			"jobs", lost, "error", failure)
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
	var late []*JobInfo
	for _, h := range w.inHand() {
		if h.settle(EndFailed) {
			late = append(late, h.info)
		}
	}
	if len(late) == 0 {
		return
	}
	w.config.Logger.Error("elapse: handlers did not end; their jobs have failed", "jobs", len(late))
	w.nack(inner, "elapse: jobs could not be given back", late, "ERROR", "the worker stopped before the handler ended")
}

// nack tells the server, for as long as a worker that ends does, that jobs are not done. The message is for the jobs of which
// it cannot be told. after are the options of NACK.
func (w *Worker) nack(inner context.Context, message string, jobs []*JobInfo, after ...any) {
	ctx, cancel := context.WithTimeout(inner, lastWords)
	defer cancel()
	lost, failure := 0, error(nil)
	inPieces(jobs, func(some []*JobInfo) {
		for _, one := range w.client.doParts(ctx, leases("NACK", some, after...)) {
			if one.err != nil {
				lost, failure = lost+1, one.err
			}
		}
	})
	if failure != nil {
		w.config.Logger.Error(message, "jobs", lost, "error", failure)
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
	w.nack(inner, "elapse: jobs that had not begun could not be given back", jobs, "IN", "0s")
}
