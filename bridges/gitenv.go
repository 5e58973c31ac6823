package bridges

import (
	"strconv"
	"strings"
)

// explicitBare returns the variables that prevent git from using a directory as a repository only because it looks like a bare one.
// The configuration of such a directory can name programs, and any archive or branch can contain one. The variables add to the git
// settings in env. explicitBare returns none if env already has the setting, or cannot be parsed.
func explicitBare(env []string) []string {
	const setting = "safe.bareRepository"
	values := make(map[string]string)
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "GIT_CONFIG_") {
			values[name] = value
		}
	}
	count := 0
	if text := values["GIT_CONFIG_COUNT"]; text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil
		}
		count = int(n)
	}
	for i := range count {
		if strings.EqualFold(values["GIT_CONFIG_KEY_"+strconv.Itoa(i)], setting) {
			return nil
		}
	}
	n := strconv.Itoa(count)
	return []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(count+1), "GIT_CONFIG_KEY_" + n + "=" + setting, "GIT_CONFIG_VALUE_" + n + "=explicit"}
}
