package manifests

import (
	"strings"
	"testing"
	"time"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// attempt is what somebody asks for, and the refusal; an empty one means that it is admitted.
type attempt struct {
	name  string
	who   []string
	args  []string
	input string
	want  string
}

func attempts(t *testing.T, plane *planetest.Plane, all []attempt) {
	t.Helper()
	for _, test := range all {
		t.Run(test.name, func(t *testing.T) {
			_, refusal, ok := plane.KubectlOutcome(t, test.input, append(test.args, test.who...)...)
			switch {
			case test.want == "" && !ok:
				t.Errorf("refused: %s", refusal)
			case test.want != "" && (ok || !strings.Contains(refusal, test.want) || !strings.Contains(refusal, "orbidden")):
				t.Errorf("admitted %v: %s", ok, refusal)
			}
		})
	}
}

// inForce waits until a dry run is refused with these words: policies are in force a moment after they were applied.
func inForce(t *testing.T, plane *planetest.Plane, want, input string, args ...string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, refusal, _ := plane.KubectlOutcome(t, input, append(args, "--dry-run=server")...)
		if strings.Contains(refusal, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the policy is not in force: %s", refusal)
		}
	}
}
