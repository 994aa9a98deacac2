package elapse_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"elapse"
)

// What has a token of the caller's is sent again while the token lives, and not when the server may have forgotten it: then it
// would be done twice.
func TestTokensThatEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		counted, answer string
		call            func(ctx context.Context, client *elapse.Client, token elapse.PutOption) error
	}{
		"a put": {"PUT", array(":1\r\n", "+scheduled\r\n"),
			func(ctx context.Context, client *elapse.Client, token elapse.PutOption) error {
				_, err := client.Put(ctx, "t", "x", token)
				return err
			}},
		"an arrival": {"ARRIVE", ":1\r\n",
			func(ctx context.Context, client *elapse.Client, token elapse.PutOption) error {
				_, _, err := client.Arrive(ctx, "t", "k", 1, token)
				return err
			}},
		"a transaction": {"EXEC", array(array(":1\r\n", "+scheduled\r\n"), array(":2\r\n", "+scheduled\r\n")),
			func(ctx context.Context, client *elapse.Client, token elapse.PutOption) error {
				_, err := client.Transaction(ctx, elapse.Put("t", "x"), elapse.Put("t", "y", token))
				return err
			}},
	} {
		for life, sent := range map[time.Duration]int{time.Second: 1, time.Minute: 2} {
			test, life, sent := test, life, sent
			t.Run(name+" for "+life.String(), func(t *testing.T) {
				t.Parallel()
				s := &script{answers: map[string][]string{}}
				client := open(t, fakeServer(t, func(words []string) string {
					if words[0] != test.counted {
						return "+QUEUED\r\n"
					}
					s.answer(words)
					if len(s.lines(test.counted)) > 1 {
						return test.answer
					}
					time.Sleep(1100 * time.Millisecond)
					return ""
				}))
				err := test.call(background, client, elapse.TokenFor("bill-9", life))
				if sent == 1 {
					isError(t, err, elapse.ErrUncertain)
				} else {
					works(t, err)
				}
				equal(t, len(s.lines(test.counted)), sent)
			})
		}
	}
}

// After the answer UNKNOWN a token that lives for less than a minute counts as none.
func TestTokensThatAreTooShortForANode(t *testing.T) {
	s := &script{answers: map[string][]string{}}
	client := open(t, fakeServer(t, func(words []string) string {
		if words[0] == "MULTI" {
			return "+OK\r\n"
		}
		s.answer(words)
		if words[0] == "EXEC" || len(words) > 2 && strings.HasPrefix(words[2], "lost") && len(s.lines(words[2])) == 1 {
			return unknown
		}
		if words[0] == "ARRIVE" {
			return ":1\r\n"
		}
		return array(":1\r\n", "+scheduled\r\n")
	}))
	short, long := elapse.TokenFor("a", 59*time.Second), elapse.TokenFor("b", time.Minute)
	results, err := client.PutMany(background, elapse.Put("t", "lost, short", short), elapse.Put("t", "lost, long", long),
		elapse.Put("t", "lost, own"), elapse.Put("t", "answered, short", short))
	isError(t, err, elapse.ErrUncertain)
	isError(t, err, elapse.ErrUnknown)
	for place, count := range []int{1, 2, 2, 1} {
		equal(t, results[place].Err == nil, place != 0)
		equal(t, len(s.lines([]string{"lost, short", "lost, long", "lost, own", "answered, short"}[place])), count)
	}
	_, _, err = client.Arrive(background, "t", "lost, arrival", 1, short)
	isError(t, err, elapse.ErrUncertain)
	equal(t, len(s.lines("lost, arrival")), 1)
	_, err = client.Transaction(background, elapse.Put("t", "x"), elapse.Put("t", "y", short))
	isError(t, err, elapse.ErrUncertain)
	equal(t, len(s.lines("EXEC")), 1)
}

// The end of a token is seen while no server can be reached, too: a call does not wait until its deadline for it.
func TestTokensThatEndWithoutAServer(t *testing.T) {
	t.Parallel()
	for _, call := range []func(*elapse.Client, *elapse.Request) error{
		func(client *elapse.Client, request *elapse.Request) error {
			_, err := client.PutMany(background, request)
			return err
		},
		func(client *elapse.Client, request *elapse.Request) error {
			_, err := client.Transaction(background, request)
			return err
		},
	} {
		listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		t.Cleanup(func() { listener.Close() })
		go func() { // the first connection is lost when a command comes, and all others at once
			for first := true; ; first = false {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				for reader := bufio.NewReader(conn); first; {
					if words, err := readCommand(reader); err != nil || words[0] != "CLIENT" {
						break
					}
					io.WriteString(conn, "+OK\r\n")
				}
				conn.Close()
			}
		}()
		client := open(t, listener.Addr().String())
		err := call(client, elapse.Put("t", "x", elapse.TokenFor("bill-9", time.Second)))
		isError(t, err, elapse.ErrUncertain)
		if !strings.Contains(err.Error(), "its token has ended") {
			t.Fatal(err)
		}
	}
}

// Of many puts those are sent again whose tokens live.
func TestTokensThatEndAmongMany(t *testing.T) {
	t.Parallel()
	s := &script{answers: map[string][]string{}}
	client := open(t, fakeServer(t, func(words []string) string {
		s.answer(words)
		if len(s.lines("")) > 1 {
			return array(":1\r\n", "+scheduled\r\n")
		}
		time.Sleep(1100 * time.Millisecond)
		return ""
	}))
	results, err := client.PutMany(background, elapse.Put("t", "short", elapse.TokenFor("a", time.Second)),
		elapse.Put("t", "long", elapse.TokenFor("b", time.Minute)), elapse.Put("t", "own"))
	isError(t, err, elapse.ErrUncertain)
	isError(t, results[0].Err, elapse.ErrUncertain)
	works(t, results[1].Err)
	works(t, results[2].Err)
	for place, line := range s.lines("") {
		equal(t, strings.Fields(line)[2], []string{"short", "long", "own"}[place])
	}
	equal(t, len(s.lines("")), 3)
}
