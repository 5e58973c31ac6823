package config

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
)

// pathMembers lists the members of a configuration that hold paths. Relative ones are relative to the root.
var pathMembers = []string{"program", "cwd", "script", "coreFile", "coreFilePath", "projectRoot", "projectDir"}

// makeAbsolute makes the paths of a configuration absolute.
func (r *resolver) makeAbsolute(arguments map[string]any) {
	for _, name := range pathMembers {
		if path, ok := arguments[name].(string); ok && path != "" {
			arguments[name] = r.path(path)
		}
	}
}

func (r *resolver) path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.home != "" {
		return filepath.Join(r.home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.root, path)
}

// envFile adds the variables in the files that the member envFile names to the arguments' environment, except those that are
// already set. It returns the names of the added variables: their values may be secrets.
func (r *resolver) envFile(arguments map[string]any) (names []string) {
	var files []string
	switch v := arguments["envFile"].(type) {
	case string:
		files = []string{v}
	case []any:
		for _, f := range v {
			if text, ok := f.(string); ok {
				files = append(files, text)
			}
		}
	}
	delete(arguments, "envFile")
	merged := make(map[string]any)
	for _, name := range files {
		if name == "" {
			continue
		}
		f := &configfile.File{Path: r.path(name)}
		switch {
		case !f.Read():
			r.notes = append(r.notes, "envFile "+f.Path+" does not exist")
		case f.Data == nil:
			r.notes = append(r.notes, f.Problems...)
		default:
			for name, value := range parseEnv(f) {
				merged[name] = value
			}
			r.notes = append(r.notes, f.Problems...)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	env, _ := arguments["env"].(map[string]any)
	for name := range merged {
		if _, over := env[name]; !over {
			names = append(names, name)
		}
	}
	maps.Copy(merged, env)
	arguments["env"] = merged
	return names
}

// parseEnv parses lines of the form NAME=value. A value may be quoted; a line that begins with # is a comment.
func parseEnv(f *configfile.File) map[string]string {
	all := make(map[string]string)
	line := 0
	for text := range strings.Lines(strings.TrimPrefix(string(f.Data), "\ufeff")) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "export "))
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'\x00") || strings.Contains(value, "\x00") {
			f.Problem(line, "ignored a line that is not NAME=value")
			continue
		}
		all[name] = envValue(value)
	}
	return all
}

// envValue removes the quotes of a value. An unquoted value ends before " #".
func envValue(value string) string {
	if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.LastIndexByte(value[1:], value[0]); end >= 0 {
			inner := value[1 : 1+end]
			if value[0] == '"' {
				inner = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(inner)
			}
			return inner
		}
	}
	if before, _, comment := strings.Cut(value, " #"); comment {
		return strings.TrimSpace(before)
	}
	return value
}
