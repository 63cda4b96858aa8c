package main

import (
	"context"
	"errors"
	"strings"

	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/codes"
)

// failure is how an error is printed: the gRPC code by name (as talos-api.md writes it) and by number, and the
// server's own message without gRPC's frame around it.
type failure struct {
	Code    string `json:"code"`
	Number  int    `json:"number"`
	Message string `json:"message"`
}

// local is the code of an error that no server made: a file that cannot be read, a bundle that does not parse.
const local = "Local"

func describe(err error) failure {
	if status := client.Status(err); status != nil {
		return failure{Code: status.Code().String(), Number: int(status.Code()), Message: status.Message()}
	}

	// The COSI client hides the status of NotFound behind its own error type and keeps only the text.
	if state.IsNotFoundError(err) {
		_, message, found := strings.Cut(err.Error(), "desc = ")
		if !found {
			message = err.Error()
		}

		return failure{Code: codes.NotFound.String(), Number: int(codes.NotFound), Message: message}
	}

	if errors.Is(err, context.DeadlineExceeded) {
		return failure{Code: codes.DeadlineExceeded.String(), Number: int(codes.DeadlineExceeded), Message: err.Error()}
	}

	return failure{Code: local, Number: -1, Message: err.Error()}
}
