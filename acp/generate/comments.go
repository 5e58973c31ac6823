package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// commentsText has one line for each type, "Name: text", and for members that need one, "Name.member: text". Name is the name
// in the schema, or the Go name if the schema has none.
//
//go:embed comments.txt
var commentsText string

type comments struct {
	text    map[string]string
	used    map[string]bool
	missing []string
}

func loadComments() (*comments, error) {
	c := &comments{text: map[string]string{}, used: map[string]bool{}}
	for line := range strings.Lines(commentsText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, text, ok := strings.Cut(line, ": ")
		if !ok || c.text[name] != "" {
			return nil, fmt.Errorf("comments.txt: %q must be one comment, and the first for its name", line)
		}
		if !strings.HasSuffix(text, ".") {
			return nil, fmt.Errorf("comments.txt: the comment of %s does not end in a full stop", name)
		}
		c.text[name] = text
	}
	return c, nil
}

// get returns the comment of a type.
func (c *comments) get(name string, stable bool) string {
	text := c.text[name]
	if text == "" {
		c.missing = append(c.missing, name)
	}
	c.used[name] = true
	if !stable {
		text += " Unstable."
	}
	return text
}

// field returns the comment of a member, or "" if there is none.
func (c *comments) field(key string) string {
	c.used[key] = true
	return c.text[key]
}

func (c *comments) err() error {
	if len(c.missing) > 0 {
		return fmt.Errorf("comments.txt has no comment for %s", strings.Join(c.missing, ", "))
	}
	return nil
}

func (m *model) unusedComments() error {
	var unused []string
	for name := range m.comments.text {
		if !m.comments.used[name] {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		return fmt.Errorf("comments.txt has comments for unknown names: %s", strings.Join(unused, ", "))
	}
	return nil
}
