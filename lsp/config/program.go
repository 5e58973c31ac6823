package config

import (
	"os"
	"path/filepath"
	"strings"
)

// localDirs are where projects keep programs of their own, below their root, with slashes.
func localDirs(goos string) []string {
	if goos == "windows" {
		return []string{"node_modules/.bin", ".venv/Scripts", "venv/Scripts", ".env/Scripts", "vendor/bundle/bin", "bin"}
	}
	return []string{"node_modules/.bin", ".venv/bin", "venv/bin", ".env/bin", "vendor/bundle/bin", "bin"}
}

// programNames are the files that a command may be. pathext is the variable of that name, which counts on Windows only.
func programNames(command, goos, pathext string) []string {
	if goos != "windows" {
		return []string{command}
	}
	if pathext == "" {
		pathext = ".COM;.EXE;.BAT;.CMD"
	}
	var names []string
	for ext := range strings.SplitSeq(strings.ToLower(pathext), ";") {
		if ext == "" {
			continue
		}
		if strings.HasSuffix(strings.ToLower(command), ext) {
			return []string{command}
		}
		names = append(names, command+ext)
	}
	return names
}

// isProgram reports whether a file can be run.
func isProgram(path, goos string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (goos == "windows" || info.Mode()&0o111 != 0)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// hasSeparator reports whether a command is a path and not a name.
func hasSeparator(command, goos string) bool {
	return strings.Contains(command, "/") || goos == "windows" && strings.Contains(command, `\`)
}

// variable reads an environment; the last value counts.
func variable(env []string, name, goos string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, _ := strings.Cut(env[i], "=")
		if k == name || goos == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// found is where a command was found.
type found struct {
	// local is a program of a project's own, absolute, of is the workspace that it belongs to, and path is the one of the
	// machine. local and path may be empty.
	local string
	of    *workspace
	path  string
	// why says what is wrong where both are empty.
	why string
}

// find looks for a command: as an absolute path, as a path below the workspace, or as a name in the project's own
// directories, those of root before those of the workspace, and on PATH.
func (s *snapshot) find(command, root string, ws *workspace) found {
	key := command + "\x00" + root + "\x00" + ws.root
	if f, ok := s.programs[key]; ok {
		return f
	}
	f := s.look(command, root, ws)
	s.programs[key] = f
	return f
}

func (s *snapshot) look(command, root string, ws *workspace) found {
	goos, names := s.opts.GOOS, programNames(command, s.opts.GOOS, variable(s.env, "PATHEXT", s.opts.GOOS))
	if rest, ok := strings.CutPrefix(command, "~/"); ok && s.opts.Home != "" {
		command = filepath.Join(s.opts.Home, rest)
		names = programNames(command, goos, variable(s.env, "PATHEXT", goos))
	}
	if filepath.IsAbs(command) || hasSeparator(command, goos) {
		for _, name := range names {
			if !filepath.IsAbs(name) {
				name = filepath.Join(ws.root, filepath.FromSlash(name))
			}
			if !isProgram(name, goos) {
				continue
			}
			if of := s.ownerOf(name); of != nil {
				return found{local: name, of: of}
			}
			if filepath.IsAbs(command) {
				return found{path: name}
			}
			return found{local: name, of: ws} // a way out of the workspace is still the project's word
		}
		return found{why: "the program " + quote(command) + " is not there or can not be run"}
	}
	var f found
	for _, dir := range []string{root, ws.root} {
		for _, sub := range localDirs(goos) {
			if f.local != "" || len(s.list(filepath.Join(dir, filepath.FromSlash(sub)))) == 0 {
				continue
			}
			for _, name := range names {
				if p := filepath.Join(dir, filepath.FromSlash(sub), name); f.local == "" && isProgram(p, goos) {
					f.local, f.of = p, ws
				}
			}
		}
	}
	hits := s.opts.onPath(command, s.env)
	f.path = hits.outside
	if f.local == "" && hits.inside != "" {
		f.local, f.of = hits.inside, s.ownerOf(hits.inside)
	}
	if f.local == "" && f.path == "" {
		f.why = "the program " + quote(command) + " was not found: it is neither in the project (" + strings.Join(localDirs(goos), ", ") + ") nor on PATH"
		if how := install[command]; how != "" {
			f.why += "; to get it: " + how
		}
	}
	return f
}
