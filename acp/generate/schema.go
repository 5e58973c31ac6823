package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A schema is the unstable schema file, which includes the stable one, together with the set of its stable parts.
type schema struct {
	defs   []named
	byName map[string]*node
	stable map[string]*node
	// sums are the SHA-256 sums of the stable and the unstable file.
	sums [2]string
}

// A named is a schema under a name: a definition or a property.
type named struct {
	Name string
	*node
}

// node is the subset of JSON Schema that the official files use.
type node struct {
	Type          oneOrMore       `json:"type"`
	Format        string          `json:"format"`
	Ref           string          `json:"$ref"`
	Const         json.RawMessage `json:"const"`
	Title         string          `json:"title"`
	Properties    properties      `json:"properties"`
	Required      []string        `json:"required"`
	Items         *node           `json:"items"`
	Additional    json.RawMessage `json:"additionalProperties"`
	AllOf         []*node         `json:"allOf"`
	AnyOf         []*node         `json:"anyOf"`
	OneOf         []*node         `json:"oneOf"`
	Not           *node           `json:"not"`
	Default       json.RawMessage `json:"default"`
	Minimum       *float64        `json:"minimum"`
	Side          string          `json:"x-side"`
	Method        string          `json:"x-method"`
	OnError       bool            `json:"x-deserialize-default-on-error"`
	OnNull        bool            `json:"x-deserialize-default-on-null"`
	SkipBadItems  bool            `json:"x-deserialize-skip-invalid-items"`
	Discriminator *struct {
		PropertyName string `json:"propertyName"`
	} `json:"discriminator"`
}

type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(o))
	}
	*o = make([]string, 1)
	return json.Unmarshal(data, &(*o)[0])
}

// properties keeps the order of the file.
type properties []named

func (p *properties) UnmarshalJSON(data []byte) error {
	for name, raw := range jsonx.Members(data) {
		n := new(node)
		if err := json.Unmarshal(raw, n); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*p = append(*p, named{name, n})
	}
	return nil
}

func (p properties) get(name string) *node {
	for _, prop := range p {
		if prop.Name == name {
			return prop.node
		}
	}
	return nil
}

func loadSchema(dir string) (*schema, error) {
	s := &schema{byName: map[string]*node{}, stable: map[string]*node{}}
	for i, file := range []string{"schema.json", "schema.unstable.json"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; run npm ci in testdata/interop", err)
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		s.sums[i] = hex.EncodeToString(sum[:])
		var defs properties
		if err := json.Unmarshal(jsonx.Lookup(data, "$defs"), &defs); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, d := range defs {
			if i == 0 {
				s.stable[d.Name] = d.node
			} else {
				s.byName[d.Name] = d.node
			}
		}
		if i == 1 {
			s.defs = defs
		}
	}
	return s, nil
}

// ref returns the name of the definition if n is only a reference, or "".
func (n *node) ref() string {
	if n.Ref != "" {
		return strings.TrimPrefix(n.Ref, "#/$defs/")
	}
	if len(n.AllOf) == 1 && len(n.Properties) == 0 {
		return n.AllOf[0].ref()
	}
	return ""
}

// variants returns the branches of a union.
func (n *node) variants() []*node {
	if len(n.OneOf) > 0 {
		return n.OneOf
	}
	return n.AnyOf
}

// notNull returns n without its null branch, and whether it had one.
func (n *node) notNull() (*node, bool) {
	if len(n.AnyOf) == 2 && len(n.AnyOf[1].Type) == 1 && n.AnyOf[1].Type[0] == "null" {
		inner := *n.AnyOf[0]
		inner.OnError, inner.OnNull, inner.SkipBadItems = n.OnError, n.OnNull, n.SkipBadItems
		return &inner, true
	}
	if len(n.Type) == 2 && n.Type[1] == "null" {
		inner := *n
		inner.Type = n.Type[:1]
		return &inner, true
	}
	return n, false
}

// constant returns the text of a string const.
func (n *node) constant() string {
	var s string
	if n == nil || len(n.Const) == 0 || json.Unmarshal(n.Const, &s) != nil {
		return ""
	}
	return s
}
