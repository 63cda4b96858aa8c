package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSelectorsAreJudged(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "expressions.json")
	if err := os.WriteFile(file, []byte(`["disk.size > 1u * GB", "disk.size", "disk.nothing == 1"]`), 0o600); err != nil {
		t.Fatal(err)
	}

	var said []string

	if code := oracle(t, &said, "check-selectors", "--file", file); code != 0 {
		t.Fatalf("exit code %d", code)
	}

	if len(said) != 3 || said[0] != "" || said[1] == "" || said[2] == "" {
		t.Errorf("%q", said)
	}
}
