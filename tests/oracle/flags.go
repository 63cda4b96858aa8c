package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// usageError is a mistake on the command line, not an answer.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// flags is a flag set that returns its errors and can require flags to be given.
type flags struct {
	*flag.FlagSet
	required []string
}

func newFlags(name string) *flags {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(os.Stderr)

	return &flags{FlagSet: set}
}

// require declares a string flag that has no default and must be given.
func (f *flags) require(name, help string) *string {
	f.required = append(f.required, name)

	return f.String(name, "", help+" (required)")
}

// parse parses flags only; words left over are a mistake.
func (f *flags) parse(args []string) error {
	rest, err := f.parseLeading(args)
	if err != nil {
		return err
	}

	if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}

	return nil
}

// parseLeading parses flags up to the first word that is none and returns the words from there on.
func (f *flags) parseLeading(args []string) ([]string, error) {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}

		return nil, usageError{err}
	}

	for _, name := range f.required {
		if f.Lookup(name).Value.String() == "" {
			return nil, usagef("--%s is required", name)
		}
	}

	return f.Args(), nil
}

// document is generated text; with --out it is written to a file instead, readable by its owner only,
// because all that is generated here carries keys.
type document struct {
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

func emit(text []byte, out string) (document, error) {
	if out == "" {
		return document{Text: string(text)}, nil
	}

	if err := os.WriteFile(out, text, 0o600); err != nil {
		return document{}, err
	}

	return document{File: out}, nil
}

// readInput reads a file, or stdin when the name is "-".
func readInput(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}

	return os.ReadFile(name)
}

// splitWords reads a comma-separated list; empty entries do not count.
func splitWords(list string) []string {
	var words []string

	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}

	return words
}
