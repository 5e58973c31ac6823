package mcpfiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/mcp"
)

// Listed is a definition for a list.
type Listed struct {
	mcp.Definition
	// Runs is the command line or the address, without values.
	Runs string `json:"runs"`
	// Notes describe the fields that have no effect.
	Notes []string `json:"notes,omitzero"`
	// Origin is the program whose file it is, or the plugin. Asks reports that a session asks the user to trust the file.
	Origin string `json:"-"`
	Asks   bool   `json:"-"`
}

// List lists all definitions, and notes about what is wrong or ignored in the files.
func List(o *Options) (all []Listed, notes []string) {
	snap := o.take()
	for _, d := range snap.all {
		l := d.listed()
		l.Asks = d.state == stateUntrusted && slices.ContainsFunc(snap.asks, func(sub *trust.Subject) bool {
			return sub.Path == d.file.Dir && sub.Files[0].Name == d.file.Name
		})
		all = append(all, l)
	}
	for _, err := range snap.errs {
		notes = append(notes, err.Error())
	}
	for _, f := range snap.files {
		notes = append(notes, f.Notes...)
	}
	return all, notes
}

func (d *definition) listed() Listed {
	l := Listed{
		Definition: mcp.Definition{Name: d.Name, File: d.file.Path, State: string(d.state), Detail: d.detail}, Notes: d.notes, Origin: d.file.Dialect.Name,
	}
	if d.file.plugin != "" {
		l.Origin = "plugin"
	}
	switch {
	case d.Stdio != nil:
		l.Runs = commandLine(append([]string{d.Stdio.Command}, d.Stdio.Args...))
	case d.HTTP != nil:
		l.Runs = d.HTTP.URL
	}
	return l
}

// Get returns the definition of a name that counts, or else the first one, and its text in the file.
func Get(o *Options, name string) (Listed, jsonx.Raw, error) {
	d := o.take().find(name)
	if d == nil {
		return Listed{}, nil, unknown(name)
	}
	return d.listed(), d.json(), nil
}

func unknown(name string) error {
	return fmt.Errorf("%w: %s; gjc mcp list shows them", errUnknown, trust.Printable(name))
}

// Resolve returns a server with its values. It fails for one that may not start.
func Resolve(ctx context.Context, o Options, name string) (*mcp.Server, error) {
	snap := o.take()
	d := snap.find(name)
	switch {
	case d == nil:
		return nil, unknown(name)
	case d.state != stateUsed && d.state != stateOff:
		return nil, errors.New(strings.TrimRight(fmt.Sprintf("%s is %s: %s", trust.Printable(name), d.state, d.detail), ": "))
	}
	d.state = stateUsed // a test is what the user wants
	servers, mistakes := snap.compute(ctx, d.file)
	for i := range servers {
		if servers[i].Name == name {
			return &servers[i], nil
		}
	}
	for _, m := range mistakes {
		return nil, m
	}
	return nil, unknown(name)
}
