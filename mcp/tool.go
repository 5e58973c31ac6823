package mcp

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// maxDescription bounds what a server can say of one thing to the model, in bytes.
const maxDescription = 8 << 10

// maxRemote bounds a server's own name for a tool or a prompt, and maxURI a resource's address, in bytes.
const (
	maxRemote = 256
	maxURI    = 4 << 10
)

// Tool is a tool of a connected server. It is never changed; a list that changes brings new ones.
type Tool struct {
	// Name is what the model knows it by: "mcp__<server>_<tool>", at most 64 of a-z, 0-9 and _. It stays the same for
	// the life of the set.
	Name string
	// Server and Remote are the server's name and its own name for the tool.
	Server, Remote string
	// Title is for people, and never empty.
	Title       string
	Description string
	// Schema is the JSON Schema of the input: an object's, of a form that the model APIs take. It may say less than the
	// server's own, which [Tool.Validate] goes by.
	Schema jsonx.Raw

	// What the server says of the tool in so many words. A claim is no proof.
	ReadOnly, Destructive, Idempotent, OpenWorld bool

	server *server
	input  *checker // nil where the schema can not be checked
	output *checker // nil without a schema too
	// liar is done when it was told that results do not fit the output schema.
	liar sync.Once
}

// Validate checks input against the server's schema. A schema that can not be resolved, or not checked in a short time,
// accepts everything: the server will complain itself.
func (t *Tool) Validate(input jsonx.Raw) error {
	if t.input == nil {
		return nil
	}
	v := map[string]any{}
	if !jsonx.IsNull(input) {
		if err := jsonx.Unmarshal(input, &v); err != nil {
			return err
		}
	}
	return t.input.validate(v, len(input))
}

// adopt makes tools of what the server lists, leaves out what can not be used, and tells of that.
func (s *server) adopt(found []*sdk.Tool) []*Tool {
	var tools []*Tool
	var odd []string
	remote := make(map[string]bool, len(found))
	for i, f := range found {
		switch {
		case f == nil || strings.TrimSpace(f.Name) == "":
			odd = append(odd, fmt.Sprintf("tool %d has no name and is left out", i+1))
			continue
		case len(f.Name) > maxRemote:
			odd = append(odd, fmt.Sprintf("the tool %s has a name of %d bytes and is left out", text.TruncateBytes(f.Name, 80), len(f.Name)))
			continue
		case remote[f.Name]:
			odd = append(odd, fmt.Sprintf("the tool %s is listed twice", text.TruncateBytes(f.Name, 80)))
			continue
		}
		remote[f.Name] = true
		tool, err := s.newTool(f)
		if err != nil {
			odd = append(odd, fmt.Sprintf("the tool %s: %v", text.TruncateBytes(f.Name, 80), err))
		}
		var clash string
		tool.Name, clash = s.set.names.name(s.index, s.spec.Name, f.Name)
		if clash != "" {
			s.notice(fmt.Sprintf("has a tool whose name is taken: %s is called %s here", clash, tool.Name), nil)
		}
		tools = append(tools, tool)
	}
	s.set.names.forget(s.index, 2*maxListed, remote)
	s.complain(odd)
	return sortBy(tools, func(t *Tool) string { return t.Name })
}

// complain tells of odd tools: once for each set of complaints, because a list may be read often.
func (s *server) complain(odd []string) {
	s.mu.Lock()
	all := strings.Join(odd[:min(len(odd), 10)], "\n")
	again := all == s.odd
	s.odd = all
	s.mu.Unlock()
	if all != "" && !again {
		s.notice("offers tools that are not as they should be", errors.New(all))
	}
}

// newTool makes a tool. An error says what was wrong with it and mended.
func (s *server) newTool(f *sdk.Tool) (*Tool, error) {
	t := &Tool{
		Server: s.spec.Name, Remote: f.Name, Title: f.Title, Description: text.TruncateBytes(f.Description, maxDescription),
		server: s,
	}
	if a := f.Annotations; a != nil {
		if t.Title == "" {
			t.Title = a.Title
		}
		t.ReadOnly, t.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		t.Destructive = !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint
		t.OpenWorld = a.OpenWorldHint != nil && *a.OpenWorldHint
	}
	if strings.TrimSpace(t.Title) == "" {
		t.Title = f.Name
	}
	t.Title = text.TruncateBytes(strings.Join(strings.Fields(t.Title), " "), 100)
	var err error
	if t.Schema, err = modelSchema(f.InputSchema); err == nil {
		t.input, err = toldChecker("input", f.InputSchema)
		if errors.Is(err, errSchemaLoops) {
			t.Schema = jsonx.Raw(anyObject) // no model API takes it either
		}
	}
	var odd error
	t.output, odd = toldChecker("output", f.OutputSchema)
	err = errors.Join(err, odd)
	if len(f.Description) > maxDescription {
		err = errors.Join(err, fmt.Errorf("its description of %d bytes is cut", len(f.Description)))
	}
	return t, err
}

// toldChecker makes a checker where that is possible. The error is for the user, who need not know of what is common.
func toldChecker(what string, schema any) (*checker, error) {
	if schema == nil {
		return nil, nil
	}
	k, err := newChecker(schema)
	if errors.Is(err, errSchemaLoops) || errors.Is(err, errSchemaHeavy) {
		return nil, fmt.Errorf("its %s schema %w; values are not checked against it", what, err)
	}
	return k, nil
}
