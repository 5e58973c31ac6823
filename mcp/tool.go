package mcp

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// maxDescription bounds a description for the model, in bytes.
const maxDescription = 8 << 10

// maxRemote bounds a server's own name for a tool or prompt; maxURI bounds the URI of a resource. Both are in bytes.
const (
	maxRemote = 256
	maxURI    = 4 << 10
)

// Tool is a tool of a connected server. It is immutable; a changed list has new tools.
type Tool struct {
	// Name is the name for the model: "mcp__<server>_<tool>", at most 64 of a-z, 0-9 and _. It stays the same for
	// the life of the set.
	Name string
	// Server and Remote are the server's name and its own name for the tool.
	Server, Remote string
	// Title is for display. It is not empty.
	Title       string
	Description string
	// Schema is the JSON Schema of the input in a form that the model APIs accept. It may be less strict than the server's own
	// schema, which [Tool.Validate] uses.
	Schema jsonx.Raw

	// The annotations of the server. They are hints without guarantee.
	ReadOnly, Destructive, Idempotent, OpenWorld bool

	server *server
	input  *checker // nil if the schema cannot be checked
	output *checker // nil if there is no schema or it cannot be checked
	// reportOnce limits the notice about results that do not match the output schema.
	reportOnce sync.Once
}

// Validate checks input against the server's schema. If the schema is not supported, or too expensive to check, it accepts all input:
// the server rejects invalid input itself.
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

// newTools converts a list of tools. It leaves out those that cannot be used and notifies the user.
func (s *server) newTools(found []*sdk.Tool) []*Tool {
	var tools []*Tool
	var faults []string
	remote := make(map[string]bool, len(found))
	for i, f := range found {
		switch {
		case f == nil || strings.TrimSpace(f.Name) == "":
			faults = append(faults, fmt.Sprintf("tool %d has no name and is ignored", i+1))
			continue
		case len(f.Name) > maxRemote:
			faults = append(faults, fmt.Sprintf("the tool %s has a name of %d bytes and is ignored", text.TruncateBytes(f.Name, 80), len(f.Name)))
			continue
		case remote[f.Name]:
			faults = append(faults, fmt.Sprintf("the tool %s is listed twice", text.TruncateBytes(f.Name, 80)))
			continue
		}
		remote[f.Name] = true
		if !s.spec.Tools.allows(f.Name) {
			continue
		}
		tool, err := s.newTool(f)
		if err != nil {
			faults = append(faults, fmt.Sprintf("the tool %s: %v", text.TruncateBytes(f.Name, 80), err))
		}
		var clash string
		tool.Name, clash = s.set.names.name(s.index, s.spec.Name, f.Name)
		if clash != "" {
			s.notice(fmt.Sprintf("has a tool with a duplicate name: %s was renamed to %s", clash, tool.Name), nil)
		}
		tools = append(tools, tool)
	}
	s.set.names.prune(s.index, 2*maxListed, remote)
	s.noticeTools(faults)
	return sortBy(tools, func(t *Tool) string { return t.Name })
}

// noticeTools notifies the user of faults in the tools. It does not repeat the last notice, because lists may be read often.
func (s *server) noticeTools(faults []string) {
	s.mu.Lock()
	all := strings.Join(faults[:min(len(faults), 10)], "\n")
	again := all == s.complaints
	s.complaints = all
	s.mu.Unlock()
	if all != "" && !again {
		s.notice("offers tools with faults", errors.New(all))
	}
}

// newTool converts a tool. If the tool has faults, the error describes them; the tool may still be usable.
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
		t.input, err = newSchemaChecker("input", f.InputSchema)
		if errors.Is(err, errSchemaLoops) {
			t.Schema = jsonx.Raw(anyObject) // the model APIs do not accept such a schema either
		}
	}
	var fault error
	t.output, fault = newSchemaChecker("output", f.OutputSchema)
	err = errors.Join(err, fault)
	if len(f.Description) > maxDescription {
		err = errors.Join(err, fmt.Errorf("its description of %d bytes was truncated", len(f.Description)))
	}
	return t, err
}

// newSchemaChecker returns a checker for a schema, or nil if the schema cannot be checked. The error is for the user; it is nil for
// common reasons.
func newSchemaChecker(what string, schema any) (*checker, error) {
	if schema == nil {
		return nil, nil
	}
	k, err := newChecker(schema)
	if errors.Is(err, errSchemaLoops) || errors.Is(err, errSchemaHeavy) {
		return nil, fmt.Errorf("its %s schema %w; arguments are not checked against it", what, err)
	}
	return k, nil
}

// ToolFilter selects tools of a server by the server's own names. Patterns may have *, ? and [].
type ToolFilter struct {
	// Allow has the tools that are allowed; nil for all. Deny has those that are not, even if Allow has them.
	Allow, Deny []string
}

// allows reports whether a tool may be offered and called.
func (f *ToolFilter) allows(name string) bool {
	matches := func(pattern string) bool { return matchGlob(pattern, name) }
	return (f.Allow == nil || slices.ContainsFunc(f.Allow, matches)) && !slices.ContainsFunc(f.Deny, matches)
}

// matchGlob reports whether a name matches a pattern. A slash is a character like any other. An invalid pattern matches itself.
func matchGlob(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok || err != nil && pattern == name
}

// ValidGlob reports whether a pattern of a [ToolFilter] is valid.
func ValidGlob(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != ""
}
