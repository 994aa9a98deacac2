// Package elapsetest starts a server for the tests of programs that use the package elapse, with a clock that
// the test moves:
//
//	server := elapsetest.Start(t)
//	client := server.Client(t)
//	client.Put(ctx, "orders", "4711", elapse.In(30*time.Minute))
//	server.Advance(t, 30*time.Minute) // the job is due now
//
// The program is that of the environment variable ELAPSE_PROGRAM, or elapse of the path.
package elapsetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"elapse"

	"github.com/gomodule/redigo/redis"
)

// Server is a server on loopback, which ends with its test.
type Server struct {
	// Address is its host and port.
	Address string

	process *exec.Cmd
	log     string
	ended   chan struct{}
}

// patience is how long a server may take to be ready: no run comes near.
const patience = time.Minute

// Start starts a server that keeps all in memory, and whose clock Advance moves. Further arguments are those
// of elapse serve. It fails the test if there is no program.
func Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return StartWith(t, "127.0.0.1:0", append([]string{"--durability", "memory", "--test-clock"}, arguments...)...)
}

// StartWith starts a server that listens at an address, with these arguments of elapse serve alone.
func StartWith(t testing.TB, listen string, arguments ...string) *Server {
	t.Helper()
	program := os.Getenv("ELAPSE_PROGRAM")
	if program == "" {
		program = "elapse"
	}
	server := &Server{log: filepath.Join(t.TempDir(), "log"), ended: make(chan struct{})}
	log, err := os.Create(server.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	server.process = exec.Command(program, append([]string{"serve", "--listen", listen}, arguments...)...)
	server.process.Stderr = log
	server.process.Dir = t.TempDir()
	server.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.process.Start(); err != nil {
		t.Fatalf("%s cannot be started: %v", program, err)
	}
	go func() {
		_ = server.process.Wait()
		close(server.ended)
	}()
	t.Cleanup(server.Kill)
	server.Address = server.await(t)
	return server
}

var listening = regexp.MustCompile(`listening: (127\.0\.0\.1:\d+)`)

// await returns the address that the log names, once the server is ready.
func (s *Server) await(t testing.TB) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		ended := false
		select {
		case <-s.ended:
			ended = true
		case <-time.After(2 * time.Millisecond):
		}
		log, err := os.ReadFile(s.log)
		if err != nil {
			t.Fatal(err)
		}
		if found := listening.FindSubmatch(log); found != nil && bytes.Contains(log, []byte(" ready: ")) {
			return string(found[1])
		}
		if ended {
			t.Fatalf("the server ended:\n%s", log)
		}
	}
	t.Fatal("the server is not ready")
	return ""
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

// Client returns a client of the server, which is closed with the test.
func (s *Server) Client(t testing.TB) *elapse.Client {
	t.Helper()
	client, err := elapse.Open(elapse.Config{Addresses: []string{s.Address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// Advance moves the server's clock forward. What is due by then is due at once: delays, ends of leases,
// retries. Workers get it in the next moments; a look in the same moment may still find it delayed.
func (s *Server) Advance(t testing.TB, duration time.Duration) {
	t.Helper()
	conn, err := redis.Dial("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.Do("CLOCK", "ADVANCE", strconv.FormatInt(duration.Milliseconds(), 10)+"ms")
	if err != nil {
		t.Fatal(err)
	}
}
