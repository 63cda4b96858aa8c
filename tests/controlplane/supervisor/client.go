package supervisor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client asks the API server whether it and the controllers are ready.
type client struct {
	url  string
	http *http.Client
}

func newClient(url string, credentials *pair) (*client, error) {
	config, err := credentials.clientTLS()
	if err != nil {
		return nil, err
	}
	// No proxy: the server is on loopback.
	return &client{url: url, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: config},
		Timeout:   10 * time.Second,
	}}, nil
}

// get is nil when the path answers 200.
func (c *client) get(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}
