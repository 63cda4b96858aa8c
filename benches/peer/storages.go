package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StorageSpec gives machines volumes.
type StorageSpec struct {
	plain

	ClusterRef LocalReference `json:"clusterRef"`
	Target     *Target        `json:"target,omitempty"`
	Volumes    []Volume       `json:"volumes"`
}

// Volume is a volume of each machine.
type Volume struct {
	Name         string `json:"name"`
	DiskSelector struct {
		Match string `json:"match"`
	} `json:"diskSelector"`
	MinSize    string `json:"minSize,omitempty"`
	MaxSize    string `json:"maxSize,omitempty"`
	Grow       *bool  `json:"grow,omitempty"`
	Filesystem string `json:"filesystem,omitempty"`
	Encryption *struct {
		Key string `json:"key"`
	} `json:"encryption,omitempty"`
}

func (s *StorageSpec) fields(*asks) field.ErrorList {
	errs := append(validateName(&s.ClusterRef, "clusterRef"), validateTarget(s.Target)...)

	for i, volume := range s.Volumes {
		path := specPath.Child("volumes").Index(i)

		if !isBalanced(volume.DiskSelector.Match) {
			errs = append(errs, field.Invalid(path.Child("diskSelector", "match"), volume.DiskSelector.Match, "has a bracket or a quote that nothing closes"))
		}

		// A share of the disk is no size that can be compared.
		least, leastErr := humanize.ParseBytes(volume.MinSize)
		if most, err := humanize.ParseBytes(volume.MaxSize); err == nil && leastErr == nil && least > most {
			errs = append(errs, field.Invalid(path.Child("minSize"), volume.MinSize, "is more than maxSize "+volume.MaxSize))
		}
	}

	return errs
}

func isBalanced(expression string) bool {
	var (
		open    []rune
		quote   rune
		escaped bool
	)

	for _, sign := range expression {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			escaped = sign == '\\'

			if sign == quote {
				quote = 0
			}
		case sign == '"' || sign == '\'':
			quote = sign
		case strings.ContainsRune("([{", sign):
			open = append(open, map[rune]rune{'(': ')', '[': ']', '{': '}'}[sign])
		case strings.ContainsRune(")]}", sign):
			if len(open) == 0 || open[len(open)-1] != sign {
				return false
			}

			open = open[:len(open)-1]
		}
	}

	return len(open) == 0 && quote == 0
}

// lookUp: a machine has one volume of a name.
func (s *StorageSpec) lookUp(ctx context.Context, a *asks, name string) (field.ErrorList, []string) {
	_, errs := a.clusterOf(ctx, s.ClusterRef)

	storages, err := a.references.storages(ctx, a.namespace)
	if err != nil {
		return append(errs, field.InternalError(specPath.Child("volumes"), err)), nil
	}

	var warnings []string

	for i := range storages {
		other := &storages[i]
		if other.Name == name || other.DeletionTimestamp != nil || other.Spec.ClusterRef != s.ClusterRef {
			continue
		}

		can, must := meet(s.Target, other.Spec.Target)

		for i, volume := range s.Volumes {
			if !can || !slices.ContainsFunc(other.Spec.Volumes, func(theirs Volume) bool { return theirs.Name == volume.Name }) {
				continue
			}

			if must {
				duplicate := field.Duplicate(specPath.Child("volumes").Index(i).Child("name"), volume.Name)
				duplicate.Detail = fmt.Sprintf("TalosStorage %q has a volume of this name for the same machines", other.Name)
				errs = append(errs, duplicate)
			} else {
				warnings = append(warnings, fmt.Sprintf("TalosStorage %q has a volume %q, too: no machine may be selected by both", other.Name, volume.Name))
			}
		}
	}

	for _, volume := range s.Volumes {
		if !strings.Contains(volume.DiskSelector.Match, "system_disk") {
			warnings = append(warnings, fmt.Sprintf("volume %q may be put on the system disk, too", volume.Name))
		}
	}

	return errs, warnings
}

func (s *StorageSpec) audit() map[string]string {
	names := make([]string, 0, len(s.Volumes))
	for _, volume := range s.Volumes {
		names = append(names, volume.Name)
	}

	return map[string]string{"cluster": s.ClusterRef.Name, "volumes": strings.Join(names, ",")}
}
