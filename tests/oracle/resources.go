package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	// Registering Talos's types makes the client decode the protobuf form of a resource into them, so a node (or a
	// simulated one) whose encoding Talos's tools could not read is found out.
	_ "github.com/siderolabs/talos/pkg/machinery/resources/block"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/etcd"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
)

// one reads a resource; if the node does not have it, an empty one.
func one[T resource.Resource](ctx context.Context, c *client.Client, empty T) (T, error) {
	found, err := safe.StateGet[T](ctx, c.COSI, empty.Metadata())
	if state.IsNotFoundError(err) {
		return empty, nil
	}

	if err != nil {
		return empty, fmt.Errorf("reading %s: %w", empty.Metadata().Type(), err)
	}

	return found, nil
}

// shown is a resource as JSON. A node sends each spec twice, as protobuf and as YAML. Spec is the protobuf form, decoded
// into Talos's type; YAML is there only where the two do not say the same, or where Talos's type is not known here.
type shown struct {
	Namespace string `json:"namespace"`
	Type      string `json:"type"`
	ID        string `json:"id"`
	Version   string `json:"version"`
	Owner     string `json:"owner,omitempty"`
	Phase     string `json:"phase"`
	Spec      any    `json:"spec,omitempty"`
	YAML      any    `json:"yaml,omitempty"`
}

func show(r resource.Resource) (shown, error) {
	md := r.Metadata()

	printed := shown{
		Namespace: md.Namespace(),
		Type:      md.Type(),
		ID:        md.ID(),
		Version:   md.Version().String(),
		Owner:     md.Owner(),
		Phase:     md.Phase().String(),
	}

	raw, ok := r.(*protobuf.Resource)
	if !ok {
		return printed, fmt.Errorf("%s: is a %T already", resource.String(r), r)
	}

	typed, err := protobuf.UnmarshalResource(raw)
	if err != nil {
		return printed, fmt.Errorf("%s: its protobuf form: %w", resource.String(r), err)
	}

	if printed.YAML, err = generic(raw.Spec()); err != nil {
		return printed, fmt.Errorf("%s: its YAML form: %w", resource.String(r), err)
	}

	if typed == resource.Resource(raw) {
		return printed, nil
	}

	if printed.Spec, err = generic(typed.Spec()); err != nil {
		return printed, fmt.Errorf("%s: %w", resource.String(r), err)
	}

	if reflect.DeepEqual(printed.Spec, printed.YAML) {
		printed.YAML = nil
	}

	return printed, nil
}

// generic takes a value through YAML, which is where the names of its fields are.
func generic(value any) (any, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}

	var plain any

	err = yaml.Unmarshal(text, &plain)

	return plain, err
}

// list lists a type by its full name. talosctl's short names are not taken: they would need a second call first.
func list(args []string) (call, error) {
	words, err := newFlags("list").parseLeading(args)
	if err != nil {
		return nil, err
	}

	if len(words) != 2 {
		return nil, usagef("list TYPE NAMESPACE")
	}

	kind := resource.NewMetadata(words[1], words[0], "", resource.VersionUndefined)

	return func(ctx context.Context, c *client.Client) (any, error) {
		items, err := c.COSI.List(ctx, kind, state.WithListUnmarshalOptions(state.WithSkipProtobufUnmarshal()))
		if err != nil {
			return nil, err
		}

		all := make([]shown, 0, len(items.Items))

		for _, item := range items.Items {
			one, err := show(item)
			if err != nil {
				return nil, err
			}

			all = append(all, one)
		}

		return all, nil
	}, nil
}

func get(args []string) (call, error) {
	words, err := newFlags("get").parseLeading(args)
	if err != nil {
		return nil, err
	}

	if len(words) != 3 {
		return nil, usagef("get TYPE NAMESPACE ID")
	}

	pointer := resource.NewMetadata(words[1], words[0], words[2], resource.VersionUndefined)

	return func(ctx context.Context, c *client.Client) (any, error) {
		found, err := c.COSI.Get(ctx, pointer, state.WithGetUnmarshalOptions(state.WithSkipProtobufUnmarshal()))
		if err != nil {
			return nil, err
		}

		return show(found)
	}, nil
}

// watched is one event of a watch.
type watched struct {
	Event    string `json:"event"`
	Resource *shown `json:"resource,omitempty"`
}

// watch returns the first events of a watch; what exists already comes first, ended by "Bootstrapped".
func watch(args []string) (call, error) {
	set := newFlags("watch")
	count := set.Int("events", 1, "end after so many events")

	words, err := set.parseLeading(args)
	if err != nil {
		return nil, err
	}

	if len(words) != 2 {
		return nil, usagef("watch [--events N] TYPE NAMESPACE")
	}

	kind := resource.NewMetadata(words[1], words[0], "", resource.VersionUndefined)

	return func(ctx context.Context, c *client.Client) (any, error) {
		events := make(chan state.Event)

		if err := c.COSI.WatchKind(ctx, kind, events, state.WithBootstrapContents(true), state.WithWatchKindUnmarshalOptions(state.WithSkipProtobufUnmarshal())); err != nil {
			return nil, err
		}

		seen := make([]watched, 0, *count)

		for len(seen) < *count {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case event := <-events:
				if event.Type == state.Errored {
					return nil, event.Error
				}

				entry := watched{Event: event.Type.String()}

				// The event that ends the bootstrap carries no resource, only a stand-in for one.
				if event.Resource != nil && event.Type != state.Bootstrapped {
					one, err := show(event.Resource)
					if err != nil {
						return nil, err
					}

					entry.Resource = &one
				}

				seen = append(seen, entry)
			}
		}

		return seen, nil
	}, nil
}

// messages is a reply of the machine API as JSON, in protobuf's own mapping (64-bit numbers are strings).
func messages(reply proto.Message) (any, error) {
	text, err := protojson.Marshal(reply)
	if err != nil {
		return nil, err
	}

	return json.RawMessage(text), nil
}
