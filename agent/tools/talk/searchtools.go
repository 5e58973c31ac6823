package talk

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed searchtools.md
var searchToolsText string

const (
	// defaultMatches is the number of tools that a search adds, and mostMatches its maximum.
	defaultMatches = 8
	mostMatches    = 32
	// maxQuery is the longest query, in characters.
	maxQuery = 500
)

type searchToolsInput struct {
	Query string `json:"query"          jsonschema:"words about what the tool does, or its name"`
	Limit *int   `json:"limit,omitzero" jsonschema:"maximum number of tools to add, 1 to 32; default 8"`
}

// SearchTools returns the tool "search_tools", which finds the tools that are held back.
func SearchTools() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[searchToolsInput]{
		Schemas: schemas,
		Name:    agent.SearchTool, Description: toolkit.Description(searchToolsText), Kind: agent.KindSearch,
		Plan: func(_ context.Context, _ *agent.Call, in *searchToolsInput) (*agent.CallPlan, error) {
			if err := in.check(); err != nil {
				return nil, err
			}
			return &agent.CallPlan{Title: "Find tools: " + text.Truncate(text.OneLine(in.Query), maxShownQuery)}, nil
		},
		Run: searchTools,
	})
}

// maxShownQuery is the longest query in a title, in characters.
const maxShownQuery = 80

func (in *searchToolsInput) check() error {
	switch n := utf8.RuneCountInString(in.Query); {
	case strings.TrimSpace(in.Query) == "":
		return fmt.Errorf("%w: query is empty; describe the tool in a few words", agent.ErrBadInput)
	case n > maxQuery:
		return fmt.Errorf("%w: query has %d characters, at most %d; use a few words", agent.ErrBadInput, n, maxQuery)
	case in.Limit != nil && (*in.Limit < 1 || *in.Limit > mostMatches):
		return fmt.Errorf("%w: limit must be from 1 to %d", agent.ErrBadInput, mostMatches)
	}
	return nil
}

// matched is the result of a search for the model.
type matched struct {
	Query string      `json:"query"`
	Added []foundTool `json:"added_tools"`
	// Known are matches that the model can call already.
	Known []string `json:"already_added,omitzero"`
	// Matches is the number of tools that match and were not added before.
	Matches int `json:"match_count"`
	Total   int `json:"total_tools"`
}

type foundTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

func searchTools(_ context.Context, call *agent.Call, in *searchToolsInput) (*agent.Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if call.Search == nil {
		return nil, errors.New("no tools are held back here; you see all tools")
	}
	limit := defaultMatches
	if in.Limit != nil {
		limit = *in.Limit
	}
	d, err := call.Search(in.Query, limit)
	if err != nil {
		return nil, fmt.Errorf("searching for tools: %w", err)
	}
	res := matched{Query: strings.TrimSpace(in.Query), Added: []foundTool{}, Matches: d.Matches, Total: d.Total}
	var shown strings.Builder
	for _, tool := range d.Found {
		res.Added = append(res.Added, foundTool(tool))
		fmt.Fprintf(&shown, "- %s: %s\n", tool.Name, text.Truncate(tool.Description, maxShownDescription))
	}
	for _, tool := range d.Known {
		res.Known = append(res.Known, tool.Name)
	}
	if len(d.Found) == 0 {
		shown.WriteString("No further tool matches.")
	}
	raw, err := jsonx.Marshal(&res)
	if err != nil {
		return nil, err
	}
	return &agent.Result{Text: string(raw), Content: []agent.Content{agent.TextContent{Text: shown.String()}}}, nil
}

// maxShownDescription is the longest description that the user sees, in characters.
const maxShownDescription = 100
