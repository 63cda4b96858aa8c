package main

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Target says which machines of a cluster something is for.
type Target struct {
	Role     string    `json:"role,omitempty"`
	Machines []string  `json:"machines,omitempty"`
	Selector *Selector `json:"selector,omitempty"`
}

// Selector selects machines by their labels.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values,omitempty"`
	} `json:"matchExpressions,omitempty"`
}

// validateTarget wants labels that a machine can have.
func validateTarget(target *Target) field.ErrorList {
	if target == nil || target.Selector == nil {
		return nil
	}

	var errs field.ErrorList

	path := specPath.Child("target", "selector")
	words := func(path *field.Path, key string, values ...string) {
		for _, why := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path, key, why))
		}

		for _, value := range values {
			for _, why := range validation.IsValidLabelValue(value) {
				errs = append(errs, field.Invalid(path, value, why))
			}
		}
	}

	for key, value := range target.Selector.MatchLabels {
		words(path.Child("matchLabels"), key, value)
	}

	for i, expression := range target.Selector.MatchExpressions {
		words(path.Child("matchExpressions").Index(i), expression.Key, expression.Values...)
	}

	return errs
}

// meet tells whether two targets can have a machine in common, and whether they have as soon as there is one.
func meet(a, b *Target) (can, must bool) {
	if a == nil {
		a = &Target{}
	}

	if b == nil {
		b = &Target{}
	}

	listed := len(a.Machines) > 0 && len(b.Machines) > 0
	shared := slices.ContainsFunc(a.Machines, func(name string) bool { return slices.Contains(b.Machines, name) })

	if a.Role != "" && b.Role != "" && a.Role != b.Role || listed && !shared || contradict(a.Selector, b.Selector) {
		return false, false
	}

	must = a.Selector == nil && b.Selector == nil && (shared || a.Role == b.Role && !listed)

	return true, must
}

func contradict(a, b *Selector) bool {
	if a == nil || b == nil {
		return false
	}

	for key := range maps.Keys(a.MatchLabels) {
		if value, there := b.MatchLabels[key]; there && value != a.MatchLabels[key] {
			return true
		}
	}

	return false
}
