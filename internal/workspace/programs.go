package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// LocalDirs returns the directories of a project's own programs, relative to its root, with slashes.
func LocalDirs(goos string) []string {
	if goos == "windows" {
		return []string{"node_modules/.bin", ".venv/Scripts", "venv/Scripts", ".env/Scripts", "vendor/bundle/bin", "bin"}
	}
	return []string{"node_modules/.bin", ".venv/bin", "venv/bin", ".env/bin", "vendor/bundle/bin", "bin"}
}

// ProgramNames returns the file names of a command. pathext is the variable PATHEXT, which is used only on Windows.
func ProgramNames(command, goos, pathext string) []string {
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

// IsProgram reports whether a file can be run.
func IsProgram(path, goos string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (goos == "windows" || info.Mode()&0o111 != 0)
}

// IsFile reports whether a path is a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// hasSeparator reports whether a command is a path and not a name.
func hasSeparator(command, goos string) bool {
	return strings.Contains(command, "/") || goos == "windows" && strings.Contains(command, `\`)
}

// Variable returns the value of a variable in an environment. The last occurrence takes precedence.
func Variable(env []string, name, goos string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, _ := strings.Cut(env[i], "=")
		if k == name || goos == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// Found is the result of a search for a command.
type Found struct {
	// Local is the absolute path of a program in a workspace, and Of is the workspace's root. Path is a program outside all
	// workspaces. Local and Path may be empty.
	Local, Of, Path string
	// Why is the reason if Local and Path are empty.
	Why string
}

// Find finds a command: an absolute path, a path relative to the root ws, or a name. It searches for a name in the project's own
// directories, first those of dir, then those of ws, and then on PATH.
func (v *View) Find(command, dir, ws string) Found {
	key := command + "\x00" + dir + "\x00" + ws
	if f, ok := v.programs[key]; ok {
		return f
	}
	if v.programs == nil {
		v.programs = make(map[string]Found)
	}
	f := v.find(command, dir, ws)
	v.programs[key] = f
	return f
}

func (v *View) find(command, dir, ws string) Found {
	names := v.names(command)
	if rest, ok := strings.CutPrefix(command, "~/"); ok && v.Home != "" {
		command = filepath.Join(v.Home, rest)
		names = v.names(command)
	}
	if filepath.IsAbs(command) || hasSeparator(command, v.GOOS) {
		for _, name := range names {
			if !filepath.IsAbs(name) {
				name = filepath.Join(ws, filepath.FromSlash(name))
			}
			if !IsProgram(name, v.GOOS) {
				continue
			}
			if of := v.Owner(name); of != "" {
				return Found{Local: name, Of: of}
			}
			if filepath.IsAbs(command) {
				return Found{Path: name}
			}
			return Found{Local: name, Of: ws} // a path out of the workspace is still the project's choice
		}
		return Found{Why: "the program " + quote(command) + " does not exist or is not executable"}
	}
	var f Found
	for _, at := range []string{dir, ws} {
		for _, sub := range LocalDirs(v.GOOS) {
			if f.Local != "" || len(v.List(filepath.Join(at, filepath.FromSlash(sub)))) == 0 {
				continue
			}
			for _, name := range names {
				if p := filepath.Join(at, filepath.FromSlash(sub), name); f.Local == "" && IsProgram(p, v.GOOS) {
					f.Local, f.Of = p, ws
				}
			}
		}
	}
	hits := v.OnPath(command)
	f.Path = hits.Outside
	if f.Local == "" && hits.Inside != "" {
		f.Local, f.Of = hits.Inside, v.Owner(hits.Inside)
	}
	if f.Local == "" && f.Path == "" {
		f.Why = "the program " + quote(command) + " was not found: it is neither in the project (" + strings.Join(LocalDirs(v.GOOS), ", ") + ") nor on PATH"
	}
	return f
}

func (v *View) names(command string) []string {
	return ProgramNames(command, v.GOOS, Variable(v.Env, "PATHEXT", v.GOOS))
}

// Hits are the programs on PATH with a given name.
type Hits struct {
	// Inside is a program in a root, found before Outside, which is in no root. Either may be empty.
	Inside, Outside string
}

// OnPath finds a command on PATH. It may be in a project, because some tools add directories of a project to PATH (direnv, npx).
func (v *View) OnPath(command string) Hits {
	var h Hits
	for env := v.Env; ; {
		p, err := v.LookPath(command, env)
		if err != nil || !filepath.IsAbs(p) {
			return h
		}
		if v.Owner(p) == "" {
			h.Outside = p
			return h
		}
		if h.Inside == "" {
			h.Inside = p
		}
		rest, less := withoutDir(env, filepath.Dir(p), v.GOOS)
		if !less {
			return h
		}
		env = rest
	}
}

// Environ returns the environment for programs in the workspaces. Its PATH omits relative directories and directories in an
// untrusted root, so that no script runs an interpreter from there.
func (v *View) Environ() []string {
	return withPath(v.Env, v.PathDirs())
}

// PathDirs returns the directories of the PATH that Environ returns.
func (v *View) PathDirs() []string {
	var dirs []string
	for _, entry := range filepath.SplitList(Variable(v.Env, "PATH", v.GOOS)) {
		if !filepath.IsAbs(entry) {
			continue
		}
		if of := v.Owner(entry); of == "" || v.Trusts(of) {
			dirs = append(dirs, entry)
		}
	}
	return dirs
}

// withoutDir removes a directory from the PATH of an environment and reports whether PATH contained it.
func withoutDir(env []string, dir, goos string) (rest []string, less bool) {
	var dirs []string
	for _, entry := range filepath.SplitList(Variable(env, "PATH", goos)) {
		if rel, in := Within(dir, entry, goos); in && rel == "" {
			less = true
		} else {
			dirs = append(dirs, entry)
		}
	}
	return withPath(env, dirs), less
}

func withPath(env, entries []string) []string {
	return append(env[:len(env):len(env)], "PATH="+strings.Join(entries, string(filepath.ListSeparator)))
}

// Every returns all programs with a name on PATH that are in no root or in a trusted one, in the order of PATH.
func (v *View) Every(command string) []string {
	var all []string
	for env := v.Env; ; {
		p, err := v.LookPath(command, env)
		if err != nil || !filepath.IsAbs(p) {
			return all
		}
		if of := v.Owner(p); of == "" || v.Trusts(of) {
			all = append(all, p)
		}
		rest, less := withoutDir(env, filepath.Dir(p), v.GOOS)
		if !less {
			return all
		}
		env = rest
	}
}
