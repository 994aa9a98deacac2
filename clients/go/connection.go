package elapse

import (
	"context"
	"errors"
	"math/rand"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	dialTimeout  = 5 * time.Second
	replyTimeout = 15 * time.Second // a node of a cluster answers within 10 s
	idleLimit    = 4 * time.Minute
	backOffMin   = 50 * time.Millisecond
	backOffMax   = time.Second
)

// errClosed is what a client that was closed answers.
var errClosed = invalid("the client is closed")

// link is one connection. One goroutine uses it at a time.
type link struct {
	conn redis.Conn
	raw  net.Conn
	used time.Time // when it was given back
	from int       // the index of its address
}

// links keeps the connections of a client, and knows which address to try first.
type links struct {
	config *Config
	places chan struct{} // one for each connection that may exist

	mutex  sync.Mutex
	idle   []*link // the last one was used last
	closed bool
	first  int // the index of the address that is tried first
}

func newLinks(config *Config) *links {
	return &links{config: config, places: make(chan struct{}, config.MaxConnections)}
}

// splitAddress returns the network and the address of "host:port" or "unix:PATH".
func splitAddress(address string) (network, rest string) {
	if path, ok := cutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

func cutPrefix(text, prefix string) (string, bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}

// dial connects to one address. It ends with the context.
func dial(ctx context.Context, config *Config, address string) (*link, error) {
	result := &link{}
	network, rest := splitAddress(address)
	options := []redis.DialOption{
		redis.DialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
			raw, err := dialer.DialContext(ctx, network, address)
			result.raw = raw
			return raw, err
		}),
		redis.DialReadTimeout(replyTimeout), redis.DialWriteTimeout(replyTimeout),
		redis.DialUsername(config.Username), redis.DialPassword(config.Password),
		redis.DialClientName(config.Name),
	}
	if config.TLS != nil {
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(config.TLS),
			redis.DialTLSHandshakeTimeout(dialTimeout))
	}
	conn, err := redis.DialContext(ctx, network, rest, options...)
	if err != nil {
		var reply redis.Error
		if errors.As(err, &reply) {
			return nil, answered(reply)
		}
		return nil, err
	}
	result.conn = conn
	return result, nil
}

// dialAny connects to the first address that can be reached, once round all of them.
func (l *links) dialAny(ctx context.Context) (*link, error) {
	l.mutex.Lock()
	first := l.first
	l.mutex.Unlock()
	var failure error
	for offset := range l.config.Addresses {
		index := (first + offset) % len(l.config.Addresses)
		connection, err := dial(ctx, l.config, l.config.Addresses[index])
		if err == nil {
			l.mutex.Lock()
			l.first = index
			l.mutex.Unlock()
			connection.from = index
			return connection, nil
		}
		failure = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failure
}

// next lets another address be tried first, because the present one failed.
func (l *links) next() {
	l.mutex.Lock()
	l.first = (l.first + 1) % len(l.config.Addresses)
	l.mutex.Unlock()
}

// leave lets the address after that of a connection be tried first, unless another call has left it already.
func (l *links) leave(connection *link) {
	l.mutex.Lock()
	if l.first == connection.from {
		l.first = (l.first + 1) % len(l.config.Addresses)
	}
	l.mutex.Unlock()
}

// get returns a connection, an idle one if there is one. It waits while there are as many as there may be.
func (l *links) get(ctx context.Context) (*link, error) {
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mutex.Lock()
	if l.closed {
		l.mutex.Unlock()
		<-l.places
		return nil, errClosed
	}
	for len(l.idle) > 0 {
		connection := l.idle[len(l.idle)-1]
		l.idle = l.idle[:len(l.idle)-1]
		if time.Since(connection.used) < idleLimit {
			l.mutex.Unlock()
			return connection, nil
		}
		connection.conn.Close()
	}
	l.mutex.Unlock()
	connection, err := l.dialAny(ctx)
	if err != nil {
		<-l.places
		return nil, err
	}
	return connection, nil
}

// put gives a connection back. One that failed is closed. If its server is lost the idle ones, which most
// likely led to the same server, are closed, too.
func (l *links) put(connection *link, failed, lost bool) {
	l.mutex.Lock()
	if failed || l.closed {
		connection.conn.Close()
	} else {
		connection.used = time.Now()
		l.idle = append(l.idle, connection)
	}
	if lost || l.closed {
		for _, other := range l.idle {
			other.conn.Close()
		}
		l.idle = nil
	}
	l.mutex.Unlock()
	<-l.places
}

// isClosed returns whether the client was closed.
func (l *links) isClosed() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.closed
}

func (l *links) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
	for _, connection := range l.idle {
		connection.conn.Close()
	}
	l.idle = nil
}

// until runs a function that reads and writes the connection, and makes it fail when the context ends.
func (l *link) until(ctx context.Context, use func() error) error {
	if ctx.Done() == nil {
		return use()
	}
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			l.raw.Close() // reads and writes fail at once; the link is not used again
		case <-done:
		}
	}()
	err := use()
	close(done)
	<-watched
	return err
}

// backOff returns how long to wait after so many failures in a row.
func backOff(failures int) time.Duration {
	wait := backOffMax
	if failures < 5 {
		wait = backOffMin << failures
	}
	return wait/2 + time.Duration(rand.Int63n(int64(wait/2)))
}

// sleep waits, or returns false when the context ends before.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
