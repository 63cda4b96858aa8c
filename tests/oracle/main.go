// Command oracle asks Talos's own published Go code (its machinery module) what Talos itself would
// say: it makes secrets bundles and machine configurations, validates configurations, judges client
// certificates and talks to a node through Talos's own client. The tests of Ichor, which is written
// in Rust, compare themselves with its answers, so that they never only agree with themselves.
//
// Every command prints one JSON document on stdout. Exit code 0 means yes or done; 1 means no,
// refused or failed, and the document says why; 2 means that the command line was wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errRejected is returned beside a report that is to be printed whole although the answer is no.
var errRejected = errors.New("rejected")

// command does one subcommand's work; what it returns is printed as JSON.
type command func(ctx context.Context, args []string) (any, error)

var commands = map[string]command{
	"gen-secrets":       genSecrets,
	"gen-talosconfig":   genTalosconfig,
	"gen-config":        genConfig,
	"validate":          validateConfig,
	"check-client-cert": checkClientCert,
	"dial":              dial,
	"schema":            schema,
	"corpus":            corpus,
	"normalise":         normalise,
	"check-selectors":   checkSelectors,
}

const usage = `usage: oracle COMMAND [flags]; "oracle COMMAND -h" lists the flags

  gen-secrets        a secrets bundle, as "talosctl gen secrets" writes it
  gen-talosconfig    a talosconfig with a client certificate signed by a bundle's Talos CA
  gen-config         the machine configuration of one role, as "talosctl gen config" writes it
  validate           a machine configuration, judged as "talosctl validate --mode metal" does
  check-client-cert  a client certificate, judged as a Talos node does
  dial               one call to a node through Talos's own client
  schema             the fields of all documents and how they merge, as data for Ichor's own patcher
  corpus             patches made up by a seed, each with its base and what Talos's own patcher makes of it
  check-selectors    disk selectors of volumes (a JSON list), each judged as a Talos node does
  normalise          configurations (a JSON list on stdin), each as Talos's own types write it
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process, so that tests can call it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(stderr, usage)

		return 2
	}

	result, err := commands[args[0]](ctx, args[1:])

	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "oracle %s: %v\n", args[0], err)

		return 2
	case errors.Is(err, errRejected): // the report itself says no
	case err != nil:
		result = describe(err)
	}

	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)

	if encodeErr := encoder.Encode(result); encodeErr != nil {
		fmt.Fprintf(stderr, "oracle %s: writing the answer: %v\n", args[0], encodeErr)

		return 1
	}

	if err != nil {
		return 1
	}

	return 0
}
