// Package air implements the parts of the extension of ACP for JetBrains Air that gjc serves. Its members are in "jetbrains", "air" of
// a _meta. The extension is described at
// https://github.com/agentclientprotocol/codex-acp/blob/main/docs/air-extensions.md.
package air

import (
	"errors"
	"fmt"
	"math"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// version is the version of the extension.
const version = 1

// The members of _meta.
const (
	namespace    = "jetbrains"
	member       = "air"
	capabilities = "capabilities"
)

// A Capability is a part of the extension.
type Capability string

// The capabilities that gjc serves.
const (
	DiffPatch        Capability = "diffPatch"
	SessionFailure   Capability = "sessionFailure"
	FileChangeReport Capability = "agentFileChangeReport"
	AsyncTasks       Capability = "asyncTasks"
	RecommendedValue Capability = "recommendedValue"
	SessionIndex     Capability = "sessionIndex"
	PlanContentDelta Capability = "planContentDelta"
)

// Declared stands for a client that knows the extension, with or without capabilities.
const Declared Capability = "(declared)"

// served lists the capabilities in the order of the answer to initialize, without [SessionIndex].
func served() []Capability {
	return []Capability{DiffPatch, SessionFailure, FileChangeReport, AsyncTasks, RecommendedValue, PlanContentDelta}
}

// Client holds the declaration of a client. The zero value is a client that does not know the extension.
type Client struct {
	// Declared reports that the client knows the extension, in a version that gjc knows. It may have none of the capabilities.
	Declared bool

	has map[Capability]bool
}

// Has reports whether the client has declared a capability; for [Declared], whether it knows the extension.
func (c Client) Has(name Capability) bool { return c.has[name] || name == Declared && c.Declared }

// ParseClient reads the _meta of a client's capabilities. What is malformed counts as not declared; the error, which is for a log, says
// what that was. Capabilities that gjc does not know are ignored.
func ParseClient(m acp.Meta) (Client, error) {
	raw, err := lookup(m)
	if raw == nil || err != nil {
		return Client{}, err
	}
	var declared struct {
		Version      jsonx.Raw `json:"version"`
		Capabilities jsonx.Raw `json:"capabilities"`
	}
	if err := jsonx.Unmarshal(raw, &declared); err != nil {
		return Client{}, fmt.Errorf("_meta.jetbrains.air: %w", err)
	}
	var v float64
	if err := jsonx.Unmarshal(declared.Version, &v); err != nil || v != math.Trunc(v) || v < version {
		return Client{}, fmt.Errorf("_meta.jetbrains.air.version is %.40s, not an integer of at least %d", declared.Version, version)
	}
	client := Client{Declared: true, has: make(map[Capability]bool)}
	var names []jsonx.Raw
	if err := jsonx.Unmarshal(declared.Capabilities, &names); err != nil {
		return client, errors.New("_meta.jetbrains.air.capabilities is not an array")
	}
	for _, n := range names {
		var name Capability
		if jsonx.Unmarshal(n, &name) != nil {
			err = fmt.Errorf("_meta.jetbrains.air.capabilities has %.40s, which is not a string", n)
			continue
		}
		client.has[name] = true
	}
	return client, err
}

// lookup returns the extension's object in a _meta; nil if there is none.
func lookup(m acp.Meta) (jsonx.Raw, error) {
	var vendor map[string]jsonx.Raw
	if ok, err := m.Get(namespace, &vendor); !ok || err != nil {
		return nil, err
	}
	raw := vendor[member]
	if jsonx.IsNull(raw) {
		return nil, nil
	}
	return raw, nil
}

// Set stores a member of the extension in a _meta, which has no other. It ignores an encoding error, because every caller passes an
// encodable value.
func Set(m *acp.Meta, key string, value any) {
	_ = m.Set(namespace, map[string]any{member: map[string]any{"version": version, key: value}})
}

// Advertise stores what gjc serves in the _meta of the answer to initialize. A client that does not know [SessionIndex] does not see it.
func (c Client) Advertise(m *acp.Meta) {
	all := served()
	if c.Has(SessionIndex) {
		all = append(all, SessionIndex)
	}
	_ = m.Set(namespace, map[string]any{member: map[string]any{
		"version": version, capabilities: all, goalMember: goalSupport{version, ControlGoal, []string{setGoal, pauseGoal, resumeGoal, clearGoal}},
	}}) // cannot fail: the values are encodable
}
