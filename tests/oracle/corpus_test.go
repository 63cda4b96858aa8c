package main

import (
	"slices"
	"testing"
)

func TestCorpusIsTheSameForTheSameSeed(t *testing.T) {
	var one, again, other []patchCase

	for seed, into := range map[string]*[]patchCase{"7": &one, "8": &other} {
		if code := oracle(t, into, "corpus", "--seed", seed); code != 0 {
			t.Fatalf("exit code %d", code)
		}
	}

	oracle(t, &again, "corpus", "--seed", "7")

	if !slices.Equal(one, again) {
		t.Error("the same seed gave other patches")
	}

	if slices.Equal(one, other) {
		t.Error("another seed gave the same patches")
	}

	refused := 0

	for _, c := range one {
		if c.Error != "" {
			refused++
		}
	}

	if refused < len(one)/10 || refused > len(one)/2 {
		t.Errorf("%d of %d are refused: the corpus has to try both", refused, len(one))
	}
}
