package config

import (
	"cmp"

	"github.com/gajae-code/gjc/agent/approval"
)

// Value is the effective value of a setting, and its source.
type Value struct {
	// Name is that of the setting, with its section: "lsp.enabled".
	Name string
	// Value has no secrets.
	Value any
	Origin
}

// Values returns the settings except for the permission rules, by name.
func (c *Config) Values() map[string]Value {
	values := make(map[string]Value)
	put := func(name string, s setting) {
		from := c.Origins[name]
		from.Kind = cmp.Or(from.Kind, FromDefault)
		values[name] = Value{name, s.get(), from}
	}
	for section, known := range c.sections() {
		for name, s := range known.settings {
			if section != permissionSection {
				put(section+"."+name, s)
			}
		}
	}
	for name, s := range c.lists("") {
		put(name, s)
	}
	return values
}

// permissionSection is the section of the permission rules.
const permissionSection = "permissions"

// Rules returns the permission rules in the order of reading.
func (c *Config) Rules() []Value {
	verdicts := map[approval.Verdict]string{approval.Allow: "allow", approval.Ask: "ask", approval.Deny: "deny"}
	all := make([]Value, len(c.Permissions))
	for i := range c.Permissions {
		r := &c.Permissions[i]
		all[i] = Value{permissionSection + "." + verdicts[r.Verdict], r.Text, c.RuleOrigins[i]}
	}
	return all
}
