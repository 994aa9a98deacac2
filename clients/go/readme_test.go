package elapse_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"elapse/elapsetest"
)

// block is a block of code of a page.
type block struct{ mark, language, code string }

var blocks = regexp.MustCompile("(?s)(?:<!-- test: ([^\n]*) -->\n)?```(\\w+)\n(.*?)```\n")

// readBlocks returns the blocks of a page, of which there is at least one.
func readBlocks(t *testing.T, page string) []block {
	text := must[[]byte](t)(os.ReadFile(page))
	var result []block
	for _, found := range blocks.FindAllSubmatch(text, -1) {
		result = append(result, block{string(found[1]), string(found[2]), string(found[3])})
	}
	if len(result) == 0 {
		t.Fatalf("%s has no block", page)
	}
	return result
}

// run runs a program in a directory, and returns what it prints.
func run(t *testing.T, directory, address, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = directory
	here := must[string](t)(os.Getwd())
	command.Env = append(os.Environ(), "ELAPSE_ADDRESS="+address, "ELAPSE="+filepath.Dir(filepath.Dir(here)))
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, arguments, err, output)
	}
	return string(output)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	works(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestPages runs the blocks of the pages in their order: commands by bash; programs, each in place of the one
// before; and a block of text is what the program before it has printed.
func TestPages(t *testing.T) {
	for _, page := range []string{"README.md", "EXAMPLES.md"} {
		server := elapsetest.Start(t)
		directory := filepath.Join(t.TempDir(), "shop")
		printed := ""
		programs := 0
		for _, block := range readBlocks(t, page) {
			switch {
			case block.mark == "left out" || block.mark == "by TestOpenTelemetry":
			case strings.HasPrefix(block.mark, "as "):
				works(t, os.Remove(filepath.Join(directory, "main.go")))
				write(t, filepath.Join(directory, strings.TrimPrefix(block.mark, "as ")), block.code)
				run(t, directory, server.Address, "go", "test", ".")
			case block.language == "go":
				programs++
				write(t, filepath.Join(directory, "main.go"), block.code)
				equal(t, run(t, directory, server.Address, "gofmt", "-l", "."), "")
				printed = run(t, directory, server.Address, "go", "run", ".")
			case block.language == "text":
				equal(t, printed, block.code)
			case strings.Contains(block.code, "go run"): // the program before it has run
			default:
				run(t, filepath.Dir(directory), server.Address, "bash", "-ec", block.code)
			}
		}
		if programs == 0 {
			t.Fatalf("%s has no program", page)
		}
	}
}

// TestGuide runs the blocks for Go of the guide's page about clients: a package, and its test.
func TestGuide(t *testing.T) {
	const mark = "by clients/go/readme_test.go"
	directory := t.TempDir()
	names := []string{"order.go", "order_test.go"}
	var setUp string
	for _, block := range readBlocks(t, "README.md") {
		if strings.Contains(block.code, "go mod init") {
			_, setUp, _ = strings.Cut(block.code, "\n") // without the line that makes the folder
		}
	}
	run(t, directory, "", "bash", "-ec", setUp)
	for _, block := range readBlocks(t, "../../docs/guide/clients.md") {
		if block.mark == mark {
			write(t, filepath.Join(directory, names[0]), block.code)
			names = names[1:]
		}
	}
	equal(t, len(names), 0)
	equal(t, run(t, directory, "", "gofmt", "-l", "."), "")
	run(t, directory, "", "go", "test", "-run", "TestUnpaidOrderExpires", ".")
}

// TestOpenTelemetry runs the page's adapter over OpenTelemetry with Debian's golang-opentelemetry-otel-dev, which has
// no proxy of modules beside it: so it is built as programs were before modules.
func TestOpenTelemetry(t *testing.T) {
	if os.Getenv("ELAPSE_LONG") == "" {
		t.Skip("to build it takes some processor-seconds: it belongs to the long form")
	}
	const sources = "/usr/share/gocode"
	if _, err := os.Stat(sources + "/src/go.opentelemetry.io/otel/go.mod"); err != nil {
		t.Skip("golang-opentelemetry-otel-dev is not installed")
	}
	directory := t.TempDir()
	shop := filepath.Join(directory, "src", "shop")
	works(t, os.MkdirAll(filepath.Join(directory, "src"), 0o700))
	works(t, os.MkdirAll(shop, 0o700))
	works(t, os.Symlink(must[string](t)(os.Getwd()), filepath.Join(directory, "src", "elapse")))
	found := 0
	for _, block := range readBlocks(t, "README.md") {
		if block.mark == "by TestOpenTelemetry" {
			found++
			write(t, filepath.Join(shop, "tracing.go"), block.code)
		}
	}
	equal(t, found, 1)
	write(t, filepath.Join(shop, "main.go"), tracedProgram)
	equal(t, run(t, shop, "", "gofmt", "-l", "tracing.go"), "")
	t.Setenv("GO111MODULE", "off")
	t.Setenv("GOPATH", directory+":"+sources)
	server := elapsetest.Start(t)
	equal(t, run(t, shop, server.Address, "go", "run", "shop"), "the span of the handler: process orders, linked to the trace of the put: true\n")
}

const tracedProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"elapse"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func main() {
	exporter := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSyncer(exporter)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	ctx, span := otel.Tracer("shop").Start(context.Background(), "checkout")
	client, err := elapse.Open(elapse.Config{Addresses: []string{os.Getenv("ELAPSE_ADDRESS")}, Telemetry: tracing{}})
	if err != nil {
		panic(err)
	}
	if _, err := client.Put(ctx, "orders", "x"); err != nil {
		panic(err)
	}
	span.End()
	ctx, stop := context.WithCancel(context.Background())
	worker := elapse.NewWorker(client, elapse.WorkerConfig{After: func(*elapse.JobInfo, elapse.Ending) { stop() }})
	elapse.Handle(worker, "orders", func(context.Context, *elapse.Job[string]) error { return nil })
	if err := worker.Run(ctx); err != nil {
		panic(err)
	}
	spans := exporter.GetSpans()
	handled := spans[len(spans)-1]
	fmt.Printf("the span of the handler: %s, linked to the trace of the put: %t\n", handled.Name,
		len(spans) == 2 && len(handled.Links) == 1 && handled.Links[0].SpanContext.SpanID() == span.SpanContext().SpanID())
}
`
