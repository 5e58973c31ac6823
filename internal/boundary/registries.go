package boundary

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/places"
)

//go:embed registries.txt
var registriesText string

// registry lists the hosts from which a toolchain downloads what a file in a project names.
type registry struct {
	files []string
	hosts []string
}

// registries returns the lines of registries.txt.
var registries = sync.OnceValue(func() []registry {
	var all []registry
	for line := range strings.Lines(registriesText) {
		if files, hosts, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			all = append(all, registry{strings.Fields(files), strings.Fields(hosts)})
		}
	}
	return all
})

// Together returns the hosts that are offered in one answer with a refused one: the registries and git remotes of the project, if that
// one is among them. It is empty otherwise.
func (b *Settings) Together(refused []Refusal, paths *places.Paths) []string {
	var hosts []string
	for _, root := range paths.RealRoots {
		for _, r := range registries() {
			if slices.ContainsFunc(r.files, func(name string) bool { _, err := os.Lstat(filepath.Join(root, name)); return err == nil }) {
				hosts = append(hosts, r.hosts...)
			}
		}
		hosts = append(hosts, remotes(root)...)
	}
	for _, r := range refused {
		if r.Host == "" || !slices.Contains(hosts, r.Host) {
			return nil
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// remotes returns the hosts of a repository's remotes that are reached by HTTP.
func remotes(root string) []string {
	var hosts []string
	for _, address := range remoteAddresses(root) {
		_, rest, ok := strings.Cut(address, "://")
		if !ok {
			continue
		}
		rest, _, _ = strings.Cut(rest, "/")
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		if host, _, _ := strings.Cut(rest, ":"); host != "" {
			hosts = append(hosts, strings.ToLower(host))
		}
	}
	return hosts
}

// RemoteAddress returns the address of a remote of the repository that a directory of a root is in; empty if there is none, or if
// that is not the root's own.
func RemoteAddress(dir string, paths *places.Paths, name string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return remoteAddresses(dir)[name]
		}
		if dir == filepath.Dir(dir) || slices.Contains(paths.RealRoots, dir) {
			return ""
		}
	}
}

// RemoteAddresses returns the addresses of a repository's remotes, by name: the last one that its own configuration has.
func remoteAddresses(root string) map[string]string {
	dir, common := gitDirectories(filepath.Join(root, ".git"))
	if common != "" {
		dir = common
	}
	data, err := os.ReadFile(filepath.Join(dir, "config"))
	if dir == "" || err != nil {
		return nil
	}
	addresses := make(map[string]string)
	remote := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if section, ok := strings.CutPrefix(line, "["); ok {
			name, _ := strings.CutPrefix(section, `remote "`)
			if remote, ok = strings.CutSuffix(name, `"]`); !ok || name == section {
				remote = ""
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if key = strings.ToLower(strings.TrimSpace(key)); ok && remote != "" && (key == "url" || key == "pushurl") {
			addresses[remote] = strings.TrimSpace(value)
		}
	}
	return addresses
}
