package config

import (
	"context"
	"path/filepath"
	"strings"
)

// Environ returns the environment for programs that run beside the servers: without the places on PATH that are relative
// or lie in a root that is not trusted, so that a script finds no interpreter there.
func (c *Catalog) Environ(ctx context.Context) ([]string, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	s := c.snapshot(ctx, c.opts.MaxAge)
	var kept []string
	for _, entry := range filepath.SplitList(variable(s.env, "PATH", c.opts.GOOS)) {
		if !filepath.IsAbs(entry) {
			continue
		}
		if of := s.ownerOf(entry); of == nil || of.programsTrusted {
			kept = append(kept, entry)
		}
	}
	return withPath(s.env, kept), nil
}

func withPath(env, entries []string) []string {
	return append(env[:len(env):len(env)], "PATH="+strings.Join(entries, string(filepath.ListSeparator)))
}

// owner returns the innermost root that a file lies in, or "": by its name, or by where the links on its way or its
// directory's lead.
func (o *Options) owner(file string) string {
	names := []string{file, real(file), filepath.Join(real(filepath.Dir(file)), filepath.Base(file))}
	best := ""
	for _, root := range o.Roots {
		for _, dir := range []string{root, real(root)} {
			for _, name := range names {
				if _, in := within(dir, name, o.GOOS); in && len(root) > len(best) {
					best = root
				}
			}
		}
	}
	return best
}

// real is a path without links; one that is not there is as it is.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// hits is what a PATH has of a name.
type hits struct {
	// inside is a program that lies in a root and comes before outside, which lies in none. Either may be empty.
	inside, outside string
}

// onPath looks for a command on the PATH of env. Tools put directories of a project there (direnv, npx), so that a hit
// alone says nothing about whose program it is.
func (o *Options) onPath(command string, env []string) hits {
	var h hits
	for {
		p, err := o.LookPath(command, env)
		if err != nil || !filepath.IsAbs(p) {
			return h
		}
		if o.owner(p) == "" {
			h.outside = p
			return h
		}
		if h.inside == "" {
			h.inside = p
		}
		rest, less := withoutDir(env, filepath.Dir(p), o.GOOS)
		if !less {
			return h
		}
		env = rest
	}
}

// withoutDir returns an environment without a directory on its PATH, and whether it was there.
func withoutDir(env []string, dir, goos string) (rest []string, less bool) {
	var kept []string
	for _, entry := range filepath.SplitList(variable(env, "PATH", goos)) {
		if rel, in := within(dir, entry, goos); in && rel == "" {
			less = true
		} else {
			kept = append(kept, entry)
		}
	}
	return withPath(env, kept), less
}
