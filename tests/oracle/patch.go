package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
)

// outcome is a configuration as Talos's own types write it, or why there is none.
type outcome struct {
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// applyPatch asks Talos's own patcher. It loads the result as well, as the node would: a JSON patch alone does not see
// the types of what it writes.
func applyPatch(base, patch string) outcome {
	return attempt(func() (config.Provider, error) {
		provider, err := configloader.NewFromBytes([]byte(base))
		if err != nil {
			return nil, err
		}

		loaded, err := configpatcher.LoadPatch([]byte(patch))
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}

		patched, err := configpatcher.Apply(configpatcher.WithConfig(provider), []configpatcher.Patch{loaded})
		if err != nil {
			return nil, fmt.Errorf("apply: %w", err)
		}

		return patched.Config()
	})
}

// readConfig reads a configuration as a node does.
func readConfig(text string) outcome {
	return attempt(func() (config.Provider, error) { return configloader.NewFromBytes([]byte(text)) })
}

// attempt writes the configuration that load gives; a panic is a refusal too.
func attempt(load func() (config.Provider, error)) (said outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			said = outcome{Error: fmt.Sprintf("panic: %v", cause)}
		}
	}()

	provider, err := load()
	if err != nil {
		return outcome{Error: err.Error()}
	}

	text, err := provider.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return outcome{Error: "encode: " + err.Error()}
	}

	return outcome{Result: string(text)}
}

func normalise(_ context.Context, args []string) (any, error) {
	if err := newFlags("normalise").parse(args); err != nil {
		return nil, err
	}

	var texts []string

	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return nil, err
	}

	said := make([]outcome, 0, len(texts))

	for _, text := range texts {
		said = append(said, readConfig(text))
	}

	return said, nil
}
