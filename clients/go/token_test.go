package elapse_test

import (
	"context"
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
