package elapse

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Config says where the server is, and how a client behaves. The zero value is a server at
// 127.0.0.1:11300 without a password.
type Config struct {
	// Addresses are the server, or the nodes of a cluster: "host:port" or "unix:PATH". If one fails the
	// next one is tried. The default is 127.0.0.1:11300.
	Addresses []string
	// Username and Password are those of the server; without a Username the password is that of its
	// user default.
	Username, Password string
	// TLS makes connections by TLS, if it is not nil.
	TLS *tls.Config
	// Name tells the server who this is, in words without spaces. The default names the machine and the
	// process.
	Name string
	// RetryFor is how long a call is tried again, 30 s unless given, at most 9 min. A deadline of the
	// context may end it sooner.
	RetryFor time.Duration
	// MaxConnections is how many connections the client has at most, 16 unless given. A call waits for
	// one.
	MaxConnections int
	// Codec writes and reads bodies that are neither bytes nor text. The default is JSON.
	Codec Codec
	// Headers, if it is not nil, gives headers to each put: where a trace goes on, say. Those of the
	// option Headers come first.
	Headers func(ctx context.Context) map[string]string
	// Telemetry, if it is not nil, carries a trace from each put to its handler, and counts jobs. README.md has one
	// over OpenTelemetry. What it writes comes before Headers, and the option Headers before both.
	Telemetry Telemetry
	// Logger is told of retries. The default says nothing.
	Logger Logger
}

// Telemetry is where traces and figures go, without a dependency on what makes them. Any number of goroutines
// call it at the same time. What panics in it is logged by the worker, and ends nothing.
type Telemetry interface {
	// Inject writes the trace in a context into the headers of a put: traceparent and tracestate, as W3C has them.
	Inject(ctx context.Context, headers map[string]string)
	// Start begins the span of a handler, with a link to the trace in job.Headers. It returns the context of the
	// handler, and a function that ends the span with the error that the handler returned, or nil.
	Start(ctx context.Context, job *JobInfo) (context.Context, func(err error))
	// Handled is called when the server has the outcome of a job, and says how long its handler took.
	Handled(job *JobInfo, ending Ending, took time.Duration)
}

// Codec turns values into bodies, and bodies into values.
type Codec interface {
	Marshal(value any) ([]byte, error)
	Unmarshal(body []byte, value any) error
}

// Logger is what *slog.Logger has: a message, and then names and values in turn.
type Logger interface {
	Debug(message string, arguments ...any)
	Info(message string, arguments ...any)
	Warn(message string, arguments ...any)
	Error(message string, arguments ...any)
}

type jsonCodec struct{}

func (jsonCodec) Marshal(value any) ([]byte, error)      { return json.Marshal(value) }
func (jsonCodec) Unmarshal(body []byte, value any) error { return json.Unmarshal(body, value) }

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// Client speaks to a server, or to the nodes of a cluster. Any number of goroutines may use it at the same
// time. Make it by Open.
type Client struct {
	config Config
	links  *links
}

const (
	defaultAddress     = "127.0.0.1:11300"
	defaultRetryFor    = 30 * time.Second
	maxRetryFor        = 9 * time.Minute
	defaultConnections = 16
	tokenMargin        = time.Minute // a token outlives the last try by so much
)

// Open makes a client. It does not connect: the first call does. It returns an error if the configuration
// cannot be right.
func Open(config Config) (*Client, error) {
	if len(config.Addresses) == 0 {
		config.Addresses = []string{defaultAddress}
	}
	config.Addresses = append([]string(nil), config.Addresses...)
	for index, address := range config.Addresses {
		if strings.TrimSpace(address) == "" {
			return nil, invalid("Addresses[%d] is empty: an address is \"host:port\" or \"unix:PATH\"", index)
		}
		network, rest := splitAddress(address)
		if _, _, err := net.SplitHostPort(rest); network == "tcp" && err != nil {
			return nil, invalid("Addresses[%d] is %q: an address is \"host:port\" or \"unix:PATH\"", index, address)
		}
	}
	if config.Name == "" {
		host, _ := os.Hostname()
		config.Name = fmt.Sprintf("go-%s-%d", host, os.Getpid())
	}
	if config.RetryFor == 0 {
		config.RetryFor = defaultRetryFor
	}
	if config.RetryFor < 0 || config.RetryFor > maxRetryFor {
		return nil, invalid("RetryFor is more than 0 and at most %v", maxRetryFor)
	}
	if config.MaxConnections == 0 {
		config.MaxConnections = defaultConnections
	}
	if config.MaxConnections < 0 {
		return nil, invalid("MaxConnections is at least 1")
	}
	if config.Codec == nil {
		config.Codec = jsonCodec{}
	}
	if config.Logger == nil {
		config.Logger = silent{}
	}
	client := &Client{config: config}
	client.links = newLinks(&client.config)
	return client, nil
}

// Close closes the connections that nobody uses, and the others when they are given back. Later calls
// fail.
func (c *Client) Close() { c.links.close() }

// Ping asks the server for an answer.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.do(ctx, command{name: "PING", repeatable: true})
	return err
}

// command is what is sent, and whether it may be sent again when nobody knows whether it was done.
type command struct {
	name       string
	arguments  []any
	repeatable bool
	// life is how long a token of the caller's lives, by which the command may be sent again; 0: longer than a call.
	life time.Duration
}

// canTwice returns whether the command may be sent at this time although it may have been done when it was sent first. That
// is the zero time if it surely was not done.
func (c *command) canTwice(now, first time.Time) bool {
	return c.life <= 0 || first.IsZero() || now.Sub(first) < c.life
}

// isForgotten returns whether the command may not be sent again after this error: a node says UNKNOWN when it has tried for a
// while itself, and the rest of a token that lives for less than a minute is then too short.
func (c *command) isForgotten(err error) bool {
	return c.life > 0 && c.life < tokenMargin && errors.Is(err, ErrUnknown)
}

// errTokenEnded is the error of a command that was sent, and whose token the server may have forgotten.
var errTokenEnded = ErrUncertain.because(errors.New("its token has ended, so that it could be done twice if it was sent again"))

// reply is what a command answered.
type reply struct {
	value any
	err   error
}

// retry calls a function with a connection until it returns nil, or an error that is final. repeatable
// says whether it may be called again when nobody knows whether the server did what it was told. After each
// failure ended, if it is not nil, says whether nothing is left to try; then retry returns nil.
func (c *Client) retry(ctx context.Context, name string, repeatable bool, ended func() bool, use func(*link) error) error {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, c.config.RetryFor)
	defer cancel()
	doubtful := false
	for failures := 0; ; failures++ {
		connection, err := c.links.get(ctx)
		outcome, drains := notDone, false
		if err == nil {
			err = connection.until(ctx, func() error { return use(connection) })
			var answer *Error
			failed := err != nil && !errors.As(err, &answer)
			// Another server may take what one that drains refuses.
			drains = errors.Is(err, ErrDraining) && len(c.config.Addresses) > 1
			if drains {
				c.links.leave(connection)
			}
			c.links.put(connection, failed || drains, drains || failed && ctx.Err() == nil)
			if err == nil {
				return nil
			}
			outcome = fateOf(err)
			doubtful = doubtful || outcome == uncertain
		} else if errors.As(err, new(*Error)) && fateOf(err) == final {
			outcome = final
		}
		if outcome == final && !doubtful {
			return err
		}
		if outcome == final || doubtful && !repeatable {
			return ErrUncertain.because(causeOf(outer, err))
		}
		if ended != nil && ended() {
			return nil
		}
		c.config.Logger.Warn("elapse: trying again", "command", name, "error", err)
		if !drains {
			c.links.next()
		}
		if ctx.Err() != nil || !sleep(ctx, backOff(failures)) {
			if doubtful {
				return ErrUncertain.because(causeOf(outer, err))
			}
			return ErrUnavailable.because(causeOf(outer, err))
		}
	}
}

// do sends one command and returns its answer.
func (c *Client) do(ctx context.Context, what command) (any, error) {
	one := c.doAll(ctx, []command{what})[0]
	return one.value, one.err
}

// pipelined is how many commands are sent before their answers are read.
const pipelined = 250

// doAll sends many commands on one connection, and returns the answer of each. Those that got none are
// sent again, as do does. The answers are in the order of the commands.
func (c *Client) doAll(ctx context.Context, all []command) []reply {
	replies := make([]reply, len(all))
	for begin := 0; begin < len(all); begin += pipelined {
		end := begin + pipelined
		if end > len(all) {
			end = len(all)
		}
		c.doSome(ctx, all[begin:end], replies[begin:end])
	}
	return replies
}

func (c *Client) doSome(ctx context.Context, all []command, replies []reply) {
	first := make([]time.Time, len(all)) // when it was sent first that may have been done; zero: never
	waiting := make([]int, len(all))
	repeatable := true
	for index := range all {
		waiting[index] = index
		repeatable = repeatable && all[index].repeatable
	}
	drop := func(now time.Time) { // those whose tokens have ended
		alive := waiting[:0]
		for _, index := range waiting {
			if all[index].canTwice(now, first[index]) {
				alive = append(alive, index)
			} else {
				replies[index].err = errTokenEnded
			}
		}
		waiting = alive
	}
	ended := func() bool {
		drop(time.Now())
		return len(waiting) == 0
	}
	err := c.retry(ctx, all[0].name, repeatable, ended, func(l *link) error {
		began := time.Now()
		doubt := func(indices ...int) {
			for _, index := range indices {
				if first[index].IsZero() {
					first[index] = began
				}
			}
		}
		drop(began)
		if err := sendAll(l, all, waiting); err != nil {
			doubt(waiting...)
			return err
		}
		var again []int
		var failure error
		for place, index := range waiting {
			value, err := l.conn.Receive()
			var refused redis.Error
			if err != nil && !errors.As(err, &refused) {
				doubt(waiting[place:]...)
				waiting = append(again, waiting[place:]...)
				return err
			}
			if err != nil {
				err = answered(refused)
			}
			if err != nil && all[index].isForgotten(err) {
				replies[index].err = ErrUncertain.because(err)
				continue
			}
			if err != nil && fateOf(err) != final {
				if fateOf(err) == uncertain {
					doubt(index)
				}
				again, failure = append(again, index), err
				continue
			}
			if err != nil && !first[index].IsZero() {
				err = ErrUncertain.because(err)
			}
			replies[index] = reply{value, err}
		}
		waiting = again
		return failure
	})
	if err != nil {
		for _, index := range waiting {
			replies[index].err = ofOne(err, !first[index].IsZero())
		}
	}
}

// sendAll sends the commands with these indices.
func sendAll(l *link, all []command, indices []int) error {
	for _, index := range indices {
		if err := l.conn.Send(all[index].name, all[index].arguments...); err != nil {
			return err
		}
	}
	return l.conn.Flush()
}
