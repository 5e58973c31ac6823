package quota

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

const (
	// OpenRouterHost is the host of OpenRouter, which reports the limits of a key at an address of its own.
	OpenRouterHost = "openrouter.ai"
	maxKeyAnswer   = 64 << 10
)

// OpenRouter asks OpenRouter for the limit of a key, and returns no window if it has none. base is the address of the API.
func OpenRouter(ctx context.Context, client *http.Client, base, key string) ([]providers.Quota, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/key", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("User-Agent", "gjc")
	once := *client // no server may send the key elsewhere
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := once.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxKeyAnswer))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered with HTTP %d", OpenRouterHost, res.StatusCode)
	}
	var answer struct {
		Data struct {
			Limit     *float64 `json:"limit"`
			Remaining *float64 `json:"limit_remaining"`
			Reset     string   `json:"limit_reset"`
		} `json:"data"`
	}
	if err := jsonx.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("decode the answer of %s: %w", OpenRouterHost, err)
	}
	d := &answer.Data
	if d.Limit == nil || d.Remaining == nil || *d.Limit <= 0 || *d.Limit > mostAmount {
		return nil, nil
	}
	left := max(min(*d.Remaining, *d.Limit), 0)
	name := "credits"
	if reset := windowName(d.Reset); reset != "" {
		name += " " + reset
	}
	return []providers.Quota{{Name: name, Used: 1 - left / *d.Limit, Limit: *d.Limit, Remaining: left}}, nil
}
