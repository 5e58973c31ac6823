package mcpfiles

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// claudeProject has the servers of one directory in the user's file of Claude.
type claudeProject struct {
	dir     string
	servers []*entry
	// off are the names of servers that are turned off in the directory, wherever they are defined.
	off []string
}

// claudeProjects returns the projects of a file of Claude for directories, in their order. It adds mistakes to the file.
func claudeProjects(f *configFile, dirs []string) []*claudeProject {
	if f.Problem != nil {
		return nil
	}
	top, err := f.parse()
	if err != nil {
		return nil // the reader has reported it
	}
	var all []*claudeProject
	for _, dir := range dirs {
		members := top.Member(topProjects)
		if members == nil {
			return nil
		}
		for _, m := range members.Members {
			if trust.Canonical(filepath.FromSlash(m.Name)) != trust.Canonical(dir) {
				continue
			}
			p := &claudeProject{dir: dir}
			r := &reader{configFile: f}
			switch servers := m.Value.Member(topServers); {
			case servers == nil || servers.Kind == configfile.Null:
			case servers.Kind != configfile.Object:
				r.mistake(servers.Line, topProjects+"."+m.Name+"."+topServers, "must be an object with a server for each name")
			default:
				r.members(servers)
			}
			f.Mistakes = append(f.Mistakes, r.mistakes...)
			slices.SortStableFunc(r.servers, func(a, b *entry) int { return strings.Compare(a.Name, b.Name) })
			p.servers = r.servers
			p.off = append(m.Value.Member("disabledMcpServers").Strings(), m.Value.Member("disabledMcpjsonServers").Strings()...)
			all = append(all, p)
		}
	}
	return all
}

// claude copies the servers of Claude's projects, and turns off what is off in them. The servers of the user for all projects follow.
func (i *importer) claude(ctx context.Context, f *configFile) error {
	projects := claudeProjects(f, configfile.Upwards(i.dirs...))
	for _, m := range f.Mistakes {
		i.all = append(i.all, Imported{"-", f.Path, m.Reason})
	}
	f.Mistakes = nil
	for _, p := range projects {
		for _, s := range p.servers {
			s.Off = s.Off || slices.Contains(p.off, s.Name)
			if err := i.server(ctx, f, s, ", of the project "+p.dir); err != nil {
				return err
			}
		}
	}
	for _, p := range projects {
		if err := i.turnOff(ctx, f, p); err != nil {
			return err
		}
	}
	return nil
}

// turnOff turns off, in the project's directory, servers of the user and of the project's own file that Claude does not start there.
func (i *importer) turnOff(ctx context.Context, f *configFile, p *claudeProject) error {
	known := f.Servers
	if own := open(filepath.Join(p.dir, claude().File), claude(), p.dir); own != nil {
		known = append(known[:len(known):len(known)], own.Servers...)
	}
	var done []string
	for _, s := range known {
		local := slices.ContainsFunc(p.servers, func(o *entry) bool { return o.Name == s.Name })
		if local || !slices.Contains(p.off, s.Name) || !i.selected(s.Name) || slices.Contains(done, s.Name) {
			continue
		}
		done = append(done, s.Name)
		what := "would be disabled in " + p.dir
		if !i.Dry {
			what = "disabled in " + p.dir
			dir, name := trust.Canonical(p.dir), s.Name
			if err := change(ctx, i.o.userFile(), func(data []byte) ([]byte, error) { return switchProject(data, dir, name, false) }); err != nil {
				return err
			}
		}
		i.all = append(i.all, Imported{s.Name, f.Path, what})
	}
	return nil
}
