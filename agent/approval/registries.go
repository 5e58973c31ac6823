package approval

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// registry lists the hosts from which a toolchain downloads what a file in a project names.
type registry struct {
	files []string
	hosts []string
}

var registries = []registry{
	{[]string{"go.mod", "go.work"}, []string{"proxy.golang.org", "sum.golang.org", "storage.googleapis.com"}},
	{[]string{"package.json", "pnpm-workspace.yaml", "deno.json"}, []string{"registry.npmjs.org", "registry.yarnpkg.com", "jsr.io", "npm.jsr.io"}},
	{[]string{"Cargo.toml"}, []string{"index.crates.io", "static.crates.io", "crates.io"}},
	{[]string{"pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile", "uv.lock"}, []string{"pypi.org", "files.pythonhosted.org"}},
	{[]string{"Gemfile"}, []string{"rubygems.org", "index.rubygems.org"}},
	{[]string{"composer.json"}, []string{"repo.packagist.org", "packagist.org", "api.github.com", "codeload.github.com"}},
	{[]string{"pom.xml"}, []string{"repo.maven.apache.org", "repo1.maven.org"}},
	{[]string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, []string{
		"repo.maven.apache.org", "repo1.maven.org", "services.gradle.org", "plugins.gradle.org", "plugins-artifacts.gradle.org", "downloads.gradle.org", "dl.google.com",
	}},
	{[]string{"mix.exs"}, []string{"hex.pm", "repo.hex.pm", "builds.hex.pm"}},
	{[]string{"pubspec.yaml"}, []string{"pub.dev", "storage.googleapis.com"}},
	{[]string{"global.json", "nuget.config", "Directory.Packages.props"}, []string{"api.nuget.org"}},
	{[]string{"stack.yaml", "cabal.project"}, []string{"hackage.haskell.org", "hackage-origin.haskell.org"}},
}

// Together returns the hosts that are offered in one answer with a refused one: the registries and git remotes of the project, if that
// one is among them. It is empty otherwise.
func (b *Boundary) Together(refused []Refusal, paths *shell.Paths) []string {
	var hosts []string
	for _, root := range paths.RealRoots {
		for i := range registries {
			r := &registries[i]
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
	dir, common := gitDirectories(filepath.Join(root, ".git"))
	if common != "" {
		dir = common
	}
	data, err := os.ReadFile(filepath.Join(dir, "config"))
	if dir == "" || err != nil {
		return nil
	}
	var hosts []string
	for line := range strings.Lines(string(data)) {
		name, address, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.TrimSpace(name) != "url" {
			continue
		}
		_, rest, ok := strings.Cut(strings.TrimSpace(address), "://")
		if !ok {
			continue
		}
		rest, _, _ = strings.Cut(rest, "/")
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		host, _, _ := strings.Cut(rest, ":")
		if host != "" {
			hosts = append(hosts, strings.ToLower(host))
		}
	}
	return hosts
}
