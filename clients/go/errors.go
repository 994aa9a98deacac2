package elapse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// Error is every error of this package. Compare it by errors.Is with the variables below; two errors are
// the same if their codes are.
type Error struct {
	// Code is the word with which an answer of the server begins, such as BUSYKEY, or a word of this
	// package: UNAVAILABLE, UNCERTAIN, LEASELOST, CANCELLED, TIMELIMIT, STOPPED.
	Code string
	// Text says what is wrong.
	Text string
	// JobID is the job that has the key, with BUSYKEY, and 0 otherwise.
	JobID int64

	cause error
}

// What the server answers; nothing has changed then.
var (
	ErrInvalid       = &Error{Code: "ERR", Text: "the command cannot be understood"}
	ErrBusyKey       = &Error{Code: "BUSYKEY", Text: "another job has the key"}
	ErrDiskFull      = &Error{Code: "DISKFULL", Text: "the disk is full"}
	ErrDiskError     = &Error{Code: "DISKERROR", Text: "the disk cannot read the job"}
	ErrDamaged       = &Error{Code: "DAMAGED", Text: "the body of the job is damaged"}
	ErrLimit         = &Error{Code: "LIMIT", Text: "there are as many jobs, tubes or tokens as there may be"}
	ErrOutOfMemory   = &Error{Code: "OOM", Text: "the server has as much memory as it may take"}
	ErrDraining      = &Error{Code: "DRAINING", Text: "the server takes no new jobs"}
	ErrAborted       = &Error{Code: "EXECABORT", Text: "the transaction was discarded"}
	ErrCrossSlot     = &Error{Code: "CROSSSLOT", Text: "the transaction needs several partitions"}
	ErrNoAuth        = &Error{Code: "NOAUTH", Text: "a password is needed"}
	ErrWrongPassword = &Error{Code: "WRONGPASS", Text: "no such user and password"}
	ErrNoPermission  = &Error{Code: "NOPERM", Text: "the user may not do this"}
	ErrTryAgain      = &Error{Code: "TRYAGAIN", Text: "the partition has no owner now"}
	ErrUnknown       = &Error{Code: "UNKNOWN", Text: "the partition was lost before it answered"}
)

// What this package says.
var (
	// ErrUnavailable: nothing was done, because no server took the command in time. ErrDraining is its cause if a server
	// that drains was the last one that answered before Config.RetryFor was over.
	ErrUnavailable = &Error{Code: "UNAVAILABLE", Text: "no server took the command"}
	// ErrUncertain: the command was sent and not answered. It was done, or not. Look before you send it
	// again.
	ErrUncertain = &Error{Code: "UNCERTAIN", Text: "nobody knows whether the command was done"}
	// ErrLeaseLost: the lease has ended, and another worker may have the job. Stop working on it.
	ErrLeaseLost = &Error{Code: "LEASELOST", Text: "the lease has ended"}
	// ErrCancelled: the job was cancelled while a handler worked on it. Stop working on it.
	ErrCancelled = &Error{Code: "CANCELLED", Text: "the job was cancelled"}
	// ErrTimeLimit: the handler took longer than WorkerConfig.TimeLimit.
	ErrTimeLimit = &Error{Code: "TIMELIMIT", Text: "the handler took longer than its time limit"}
	// ErrStopped: the worker stops, and the time that it gives its handlers is over.
	ErrStopped = &Error{Code: "STOPPED", Text: "the worker stops"}
)

// Error returns the code and the text.
func (e *Error) Error() string {
	text := "elapse: " + e.Code + " " + e.Text
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Is returns whether the target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// Unwrap returns what caused it, such as the error of the network or of the context, or nil.
func (e *Error) Unwrap() error { return e.cause }

// because returns a copy of an error, with its cause.
func (e *Error) because(cause error) *Error {
	err := *e
	err.cause = cause
	return &err
}

// invalid returns an error of the caller, found before anything was sent.
func invalid(format string, arguments ...any) *Error {
	return &Error{Code: ErrInvalid.Code, Text: fmt.Sprintf(format, arguments...)}
}

// answered returns the error that the server answered.
func answered(reply redis.Error) *Error {
	code, text, _ := strings.Cut(string(reply), " ")
	err := &Error{Code: code, Text: text}
	if code == ErrBusyKey.Code {
		number, _, _ := strings.Cut(text, " ")
		err.JobID, _ = strconv.ParseInt(number, 10, 64)
	}
	return err
}

// fate says what an error means for a command that failed with it.
type fate int

const (
	final     fate = iota // the server said no, or the caller was wrong
	notDone               // nothing was done, and another try may succeed
	uncertain             // it was done, or not
)

// fateOf judges the error of a command that was sent.
func fateOf(err error) fate {
	var reply *Error
	if !errors.As(err, &reply) {
		return uncertain
	}
	switch reply.Code {
	case ErrTryAgain.Code, ErrDraining.Code:
		return notDone
	case ErrUnknown.Code:
		return uncertain
	}
	return final
}

// causeOf returns why the context ended, or, if it did not, the error.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
