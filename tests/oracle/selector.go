package main

import (
	"context"
	"encoding/json"

	"github.com/siderolabs/talos/pkg/machinery/cel"
	"github.com/siderolabs/talos/pkg/machinery/cel/celenv"
)

// checkSelectors says of each expression of a JSON list what Talos says of it as the disk selector of a volume; an empty
// text is a yes.
func checkSelectors(_ context.Context, args []string) (any, error) {
	set := newFlags("check-selectors")
	file := set.require("file", `JSON list of expressions, "-" for stdin`)

	if err := set.parse(args); err != nil {
		return nil, err
	}

	text, err := readInput(*file)
	if err != nil {
		return nil, err
	}

	var expressions []string

	if err := json.Unmarshal(text, &expressions); err != nil {
		return nil, err
	}

	said := make([]string, len(expressions))

	for i, expression := range expressions {
		if _, err := cel.ParseBooleanExpression(expression, celenv.DiskLocator()); err != nil {
			said[i] = err.Error()
		}
	}

	return said, nil
}
