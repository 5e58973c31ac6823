// Package web holds the tools web_fetch and web_search.
package web

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/webclient"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed webfetch.md
var webFetchText string

type webFetchInput struct {
	URL   string `json:"url" jsonschema:"address of the page, with http:// or https://"`
	Raw   bool   `json:"raw,omitzero" jsonschema:"show the page's source instead of its text"`
	Lines string `json:"lines,omitzero" jsonschema:"lines to show, such as 301-600; the first 300 if absent"`
}

// Fetch returns the tool "web_fetch", which reads a web page through client.
func Fetch(client *webclient.Client) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[webFetchInput]{
		Schemas: schemas,
		Name:    "web_fetch", Description: toolkit.Description(webFetchText), Kind: agent.KindFetch,
		Plan: func(_ context.Context, _ *agent.Call, in *webFetchInput) (*agent.CallPlan, error) {
			t, err := in.target()
			if err != nil {
				return nil, err
			}
			return toolkit.PlanFetch(t)
		},
		Run: func(ctx context.Context, call *agent.Call, in *webFetchInput) (*agent.Result, error) {
			t, err := in.target()
			if err != nil {
				return nil, err
			}
			return toolkit.FetchPage(ctx, call, client, t)
		},
	})
}

func (in *webFetchInput) target() (*toolkit.WebPage, error) {
	t := &toolkit.WebPage{Address: strings.TrimSpace(in.URL)}
	if t.Address == "" {
		return nil, fmt.Errorf("%w for web_fetch: url is empty", agent.ErrBadInput)
	}
	if in.Lines != "" {
		ranges, err := toolkit.ParseRanges(strings.ReplaceAll(in.Lines, " ", ""))
		if err != nil {
			return nil, fmt.Errorf("%w for web_fetch: lines %q: %w", agent.ErrBadInput, in.Lines, err)
		}
		t.Sel.Ranges = ranges
	}
	t.Sel.Raw = in.Raw
	return t, nil
}
