package contextwindow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// remoteTimeout bounds a request to a remote endpoint for a summary.
	remoteTimeout = 2 * time.Minute
	// maxRemoteSummary is the maximum size of the endpoint's response, in bytes.
	maxRemoteSummary = 1 << 20
)

// Remote is an HTTP endpoint that writes summaries.
type Remote struct {
	Endpoint string
	// Transport carries the requests. If nil, [http.DefaultTransport].
	Transport http.RoundTripper
}

// ask requests a summary, once: if it fails, a model writes the summary.
func (r *Remote) ask(ctx context.Context, prompt string) (string, error) {
	body, err := jsonx.Marshal(struct {
		SystemPrompt string `json:"systemPrompt"`
		Prompt       string `json:"prompt"`
	}{strings.TrimSpace(summarySystem), prompt})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTimeout, fmt.Errorf("no answer within %s", remoteTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Endpoint, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("compaction.remoteEndpoint: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Close = true // requests are rare, so the connection is not kept open
	client := &http.Client{
		Transport: r.Transport,
		// Do not follow redirects: the conversation goes only to the configured endpoint.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return "", cause
		}
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read, so the error does not matter
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRemoteSummary+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the endpoint answered with status %d", resp.StatusCode)
	case err != nil:
		return "", fmt.Errorf("reading the endpoint's answer: %w", err)
	case len(data) > maxRemoteSummary:
		return "", fmt.Errorf("the endpoint's answer has more than %d bytes", maxRemoteSummary)
	}
	var answer struct {
		Summary string `json:"summary"`
	}
	if err := jsonx.Unmarshal(data, &answer); err != nil {
		return "", fmt.Errorf("the endpoint's answer: %w", err)
	}
	summary := withoutLists(strings.ToValidUTF8(answer.Summary, "\uFFFD"))
	if summary == "" {
		return "", errors.New("the endpoint gave an empty summary")
	}
	return summary, nil
}
