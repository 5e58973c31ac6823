package bridges

import (
	"strconv"
	"strings"
)

// explicitBare are the variables by which git takes no directory for a repository only because it looks like a bare one: its
// settings name programs, and any archive or branch can bring one along. They come behind the settings that env has already.
// There are none where env says itself what git is to do, or cannot be read.
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
