package proc

import (
	_ "embed"
	"runtime"
	"strings"
)

// providerKeys are the variables with keys for models and services of gjc, one on each line. They do not include general tokens that the
// user's own commands need (GITHUB_TOKEN, AWS_*).
//
//go:embed providerkeys.txt
var providerKeys string

// IsSecretVariable reports whether [Environ] removes a variable: the known provider keys, GJC_ variables that end in API_KEY, _TOKEN or
// _SECRET, GJC_STORE and GJC_GATEWAY, and the headers for a collector of OpenTelemetry.
func IsSecretVariable(name string) bool {
	name = strings.ToUpper(name)
	if name != "" && strings.Contains("\n"+providerKeys, "\n"+name+"\n") {
		return true
	}
	if strings.HasPrefix(name, "OTEL_EXPORTER_") && strings.HasSuffix(name, "_HEADERS") {
		return true
	}
	return strings.HasPrefix(name, "GJC_") && (strings.HasSuffix(name, "API_KEY") ||
		strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_SECRET") || name == "GJC_STORE" || name == "GJC_GATEWAY") // they may have a password
}

// Environ returns the environment of a child: base, which is the program's own, without secret variables (see [IsSecretVariable]) and the
// mark of this program, followed by extra, which is not filtered. The last value of a name counts. Entries of base without a name
// are dropped.
func Environ(base []string, extra ...string) []string {
	return environ(base, extra, runtime.GOOS == "windows")
}

func environ(base, extra []string, foldCase bool) []string {
	env := make([]string, 0, len(base)+len(extra))
	at := make(map[string]int, len(base)+len(extra))
	add := func(entry string, scrub bool) {
		// Windows stores the current directory of each drive in names that begin with "=".
		i := strings.IndexByte(entry[min(1, len(entry)):], '=')
		if i < 0 {
			return
		}
		name := entry[:i+1]
		if scrub && (IsSecretVariable(name) || isMark(entry)) {
			return
		}
		if foldCase {
			name = strings.ToUpper(name)
		}
		if old, ok := at[name]; ok {
			env[old] = entry
			return
		}
		at[name] = len(env)
		env = append(env, entry)
	}
	for _, entry := range base {
		add(entry, true)
	}
	for _, entry := range extra {
		add(entry, false)
	}
	return env
}
