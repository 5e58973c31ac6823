package plugins

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
)

// claudeSettings are the files in which Claude Code keeps the plugins of a project.
func claudeSettings() []string {
	return []string{".claude/settings.json", ".claude/settings.local.json"}
}

// The members of Claude Code's settings that are about plugins: an object of "NAME@MARKETPLACE" to whether it is enabled, and one of names of
// marketplaces to objects with their source.
const (
	enabledPlugins = "enabledPlugins"
	knownMarkets   = "extraKnownMarketplaces"
)

// readClaude reads the plugins of a file with Claude Code's settings; nil for none. It is silent about a file that it cannot read, since the
// reader of hooks reports it.
func readClaude(root, name string) *Required {
	f := &configfile.File{Path: filepath.Join(root, filepath.FromSlash(name)), Name: name}
	if !f.Read() || len(f.Problems) > 0 {
		return nil
	}
	top, err := configfile.ParseJSONC(f.Data)
	if err != nil || top == nil || top.Kind != configfile.Object {
		return nil
	}
	enabled, markets := top.Member(enabledPlugins), top.Member(knownMarkets)
	if enabled == nil {
		return nil
	}
	r := new(Required)
	if enabled.Kind == configfile.Object {
		r.parseClaude(f, enabled, markets, root)
	} else {
		f.Problem(enabled.Line, "%s must be an object, not %s; it is not used", enabledPlugins, enabled.Kind)
	}
	r.Problems = f.Problems
	// The other settings of the file have nothing to do with the answer, and its hooks have an answer of their own.
	data := string(enabled.JSON())
	if markets != nil {
		data += string(markets.JSON())
	}
	r.name, r.data = "plugins in "+name, []byte(data)
	return r
}

func (r *Required) parseClaude(f *configfile.File, enabled, markets *configfile.Node, root string) {
	for _, m := range enabled.Members {
		spec, err := parseLocation(m.Name)
		switch {
		case err != nil || spec.Market == "":
			f.Problem(m.Line, "%s is not NAME@MARKETPLACE; the plugin is not used", configfile.Quote(m.Name))
			continue
		case m.Value.Kind == configfile.Boolean && !m.Value.True():
			r.Disabled = append(r.Disabled, spec.Plugin)
			continue
		case len(r.Plugins) == maxRequired:
			f.Problem(m.Line, "more than %d plugins; the rest are ignored", maxRequired)
			return
		}
		one := Requirement{Source: m.Name, root: root}
		if at := member(member(markets, spec.Market), "source"); at != nil {
			of, err := knownMarket(at, root)
			if err != nil {
				f.Problem(at.Line, "the marketplace %s: %v; its plugins are not installed", configfile.Quote(spec.Market), err)
				continue
			}
			one.Market = of.String()
		}
		if !slices.ContainsFunc(r.Plugins, func(o Requirement) bool { return strings.EqualFold(o.Source, one.Source) }) {
			r.Plugins = append(r.Plugins, one)
		}
	}
}

// knownMarket returns where a marketplace of Claude Code's settings is. A directory must be in the project.
func knownMarket(n *configfile.Node, root string) (*location, error) {
	if n.TextOf("source") == "directory" {
		at := n.TextOf("path")
		if !strings.HasPrefix(at, ".") && !filepath.IsAbs(at) {
			at = "./" + at
		}
		return below(at, root)
	}
	return objectLocation(n, badLocation(string(n.JSON())))
}
