package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// ErrKey is wrapped by the error for a key that config.yml does not have, ErrValue by that for a value that a setting cannot have.
var (
	ErrKey   = errors.New("unknown setting")
	ErrValue = errors.New("invalid value")
)

// SchemaURL returns the address of the published schema of a file, such as "config".
func SchemaURL(name string) string {
	return "https://raw.githubusercontent.com/gajae-code/gjc/main/docs/schemas/" + name + ".json"
}

// Set returns the text of a config.yml with another value of a setting. Everything else stays as it is. The value is YAML; what
// would not be valid as YAML may be a string, so that strings need no quotes. A file without settings gets a line by which
// editors find its schema.
func Set(data []byte, key, value string) ([]byte, error) {
	s, ok := find(key)
	if !ok {
		return nil, unknownKey(key)
	}
	n, reason := valueOf(s, value)
	if reason != "" {
		return nil, fmt.Errorf("%w of %s: %s", ErrValue, key, reason)
	}
	if len(strings.TrimSpace(string(configfile.Bare(data)))) == 0 {
		data = []byte("# yaml-language-server: $schema=" + SchemaURL("config") + "\n")
	}
	edited, err := configfile.SetYAML(data, strings.SplitN(key, ".", 2), n)
	if e, ok := errors.AsType[*configfile.LineError](err); ok {
		err = fmt.Errorf("line %d: the file is not YAML; correct it first", e.Line)
	}
	return edited, err
}

// find returns the setting of a key, of a configuration that is not used.
func find(key string) (setting, bool) {
	c := New()
	if s, ok := c.lists("")[key]; ok {
		return s, true
	}
	section, name, _ := strings.Cut(key, ".")
	known := c.sections()[section]
	if known.open && name != "" {
		return c.role(name), true
	}
	s, ok := known.settings[name]
	return s, ok
}

func unknownKey(key string) error {
	var names []string
	for _, k := range Keys() {
		names = append(names, k.Name)
	}
	if near := text.Near(key, names); near != "" {
		return fmt.Errorf("%w %s; did you mean %s?", ErrKey, configfile.Quote(key), near)
	}
	if section := names[slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, ".") })]; !strings.Contains(key, ".") {
		return fmt.Errorf("%w %s; a setting has its section, as %s has: gjc config lists them", ErrKey, configfile.Quote(key), section)
	}
	return fmt.Errorf("%w %s; gjc config lists the settings", ErrKey, configfile.Quote(key))
}

// valueOf reads the value of a setting, or returns what it must be.
func valueOf(s setting, value string) (n *configfile.Node, reason string) {
	n, err := configfile.ParseYAML([]byte(value))
	if err == nil && n != nil {
		if reason = s.check(n); reason == "" {
			return n, ""
		}
	}
	plain := &configfile.Node{Kind: configfile.Text, Text: value}
	if why := s.check(plain); why == "" || reason == "" {
		return plain, why
	}
	return nil, reason
}

// check returns what the value must be, or "".
func (s setting) check(n *configfile.Node) string {
	if s.item == nil {
		return s.take(n)
	}
	if n.Kind != configfile.List {
		return s.take(n)
	}
	for _, item := range n.List {
		if reason := s.item(item); reason != "" {
			return reason
		}
	}
	return ""
}
