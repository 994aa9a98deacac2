package elapse_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"elapse"
	"elapse/elapsetest"
)

// fakeServer is a server that answers what the test says, and nothing but the end of the connection where that is "".
// Any number of connections call the function at the same time.
func fakeServer(t testing.TB, answer func(words []string) string) string {
	t.Helper()
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go func() {
				defer conn.Close()
				for reader := bufio.NewReader(conn); ; {
					words, err := readCommand(reader)
					if err != nil {
						return
					}
					text := "+OK\r\n"
					if words[0] != "CLIENT" {
						text = answer(words)
					}
					if _, err := io.WriteString(conn, text); text == "" || err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// readCommand reads an array of texts.
func readCommand(reader *bufio.Reader) ([]string, error) {
	var count, size int
	if _, err := fmt.Fscanf(reader, "*%d\r\n", &count); err != nil {
		return nil, err
	}
	words := make([]string, count)
	for index := range words {
		if _, err := fmt.Fscanf(reader, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		text := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(reader, text); err != nil {
			return nil, err
		}
		words[index] = string(text[:size])
	}
	return words, nil
}

// array writes what answers as one.
func array(answers ...string) string {
	return fmt.Sprintf("*%d\r\n%s", len(answers), strings.Join(answers, ""))
}

const (
	tryAgain = "-TRYAGAIN the partition has no owner now\r\n"
	unknown  = "-UNKNOWN the partition was lost before it answered\r\n"
)

// script is what a fake server answers for each key, or each id of a job, in turn, and what it was told.
type script struct {
	mutex   sync.Mutex
	answers map[string][]string
	said    []string
}

// answer takes the next answer for each of the names, the last one again and again.
func (s *script) answer(words []string, names ...string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.said = append(s.said, strings.Join(words, " "))
	var answers []string
	for _, name := range names {
		left := s.answers[name]
		answers = append(answers, left[0])
		if len(left) > 1 {
			s.answers[name] = left[1:]
		}
	}
	return array(answers...)
}

func (s *script) all() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strings.Join(s.said, ", ")
}

// Of a cancel in a cluster those keys alone are sent again whose partition did not answer.
func TestCancelsOfPartitions(t *testing.T) {
	const removed, gone, running, full = "+removed\r\n", "+gone\r\n", "+running\r\n", "-DISKFULL the disk is full\r\n"
	for name, test := range map[string]struct {
		answers map[string][]string
		words   string
		said    string
		failure *elapse.Error
	}{
		"a partition without an owner": {map[string][]string{"a": {removed, gone}, "b": {tryAgain, removed}, "c": {running}},
			"[removed removed running]", "CANCEL t a b c, CANCEL t b", nil},
		"a job that is gone at the first try": {map[string][]string{"a": {gone}, "b": {tryAgain, gone}, "c": {removed}},
			"[gone gone removed]", "CANCEL t a b c, CANCEL t b", nil},
		"a partition that was lost": {map[string][]string{"a": {removed}, "b": {unknown, gone}, "c": {unknown, removed}},
			"[removed  removed]", "CANCEL t a b c, CANCEL t b c", elapse.ErrUncertain},
		"one that is refused": {map[string][]string{"a": {full}, "b": {removed}, "c": {tryAgain, tryAgain, gone}},
			"[ removed gone]", "CANCEL t a b c, CANCEL t c, CANCEL t c", elapse.ErrDiskFull},
		"one that is refused when it was lost": {map[string][]string{"a": {unknown, full}, "b": {removed}, "c": {full}},
			"[ removed ]", "CANCEL t a b c, CANCEL t a", elapse.ErrUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: test.answers}
			client := open(t, fakeServer(t, func(words []string) string { return s.answer(words, words[2:]...) }))
			words, err := client.CancelMany(background, "t", "a", "b", "c")
			equal(t, fmt.Sprint(words), test.words)
			equal(t, s.all(), test.said)
			if test.failure == nil {
				works(t, err)
			} else {
				isError(t, err, test.failure)
			}
		})
	}
}

// onWarning is a logger that calls a function with each warning.
type onWarning struct {
	quiet
	call func()
}

func (o onWarning) Warn(string, ...any) { o.call() }

// Of keys whose partition never answers the others are known, and it is told whether anything may have been done.
func TestCancelsThatNobodyAnswers(t *testing.T) {
	for _, test := range []struct {
		first   string
		failure *elapse.Error
	}{{tryAgain, elapse.ErrUnavailable}, {unknown, elapse.ErrUncertain}} {
		s := &script{answers: map[string][]string{"a": {"+removed\r\n"}, "b": {test.first, tryAgain}}}
		ctx, stop := context.WithCancel(background)
		defer stop()
		warnings := 0
		client := must[*elapse.Client](t)(elapse.Open(elapse.Config{
			Addresses: []string{fakeServer(t, func(words []string) string { return s.answer(words, words[2:]...) })},
			Logger: onWarning{call: func() {
				if warnings++; warnings == 2 {
					stop()
				}
			}}}))
		t.Cleanup(client.Close)
		words, err := client.CancelMany(ctx, "t", "a", "b")
		isError(t, err, test.failure)
		equal(t, fmt.Sprint(words), "[removed ]")
		equal(t, s.all(), "CANCEL t a b, CANCEL t b")
	}
}

// A cancel that was done, whose answer was lost, and that then finds no job is uncertain, and not too late.
func TestCancelsWhoseAnswerIsLost(t *testing.T) {
	server := elapsetest.Start(t)
	client := server.Client(t)
	address, loses := lossyWay(t, server.Address)
	lossy := open(t, address)
	works(t, lossy.Ping(background))
	for name, cancel := range map[string]func(t *testing.T, id int64) error{
		"by the key": func(*testing.T, int64) error { _, err := lossy.Cancel(background, "t", "k"); return err },
		"by the id":  func(_ *testing.T, id int64) error { _, err := lossy.CancelID(background, id); return err },
		"of many": func(t *testing.T, _ int64) error {
			words, err := lossy.CancelMany(background, "t", "k", "no")
			equal(t, fmt.Sprint(words), "[ ]")
			return err
		},
		"in a transaction": func(t *testing.T, id int64) error {
			results := must[[]elapse.Result](t)(lossy.Transaction(background, elapse.Cancel("t", "k"),
				elapse.CancelID(id), elapse.Reschedule("t", "no", elapse.In(time.Hour))))
			isError(t, results[1].Err, elapse.ErrUncertain)
			equal(t, results[1].Outcome, "")
			equal(t, results[2].Outcome, elapse.Gone)
			works(t, results[2].Err)
			return results[0].Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := put(t, client, "t", "x", elapse.Key("k"), elapse.In(time.Hour))
			loses.Store(true)
			isError(t, cancel(t, id), elapse.ErrUncertain)
			equal(t, loses.Load(), false)
			if state(t, client, id) != nil {
				t.Fatal("the job is still there")
			}
		})
	}
}
