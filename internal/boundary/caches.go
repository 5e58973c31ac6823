package boundary

import (
	"os"
	"path/filepath"
	"runtime"
)

// cache is a directory in which a toolchain keeps what it has downloaded or built.
type cache struct {
	// program is one that needs it.
	program string
	// variable names the directory; without it, below is where in the home directory it is, or in the directory for caches if it
	// begins with "cache:".
	variable, below string
}

// caches are those of common toolchains. A command that can write into one can change what later builds use, also outside of the
// boundary: docs/security.md says so.
var caches = []cache{
	{"go", "GOCACHE", "cache:go-build"},
	{"go", "GOPATH", "go/pkg"},
	{"golangci-lint", "GOLANGCI_LINT_CACHE", "cache:golangci-lint"},
	{"gopls", "", "cache:gopls"},
	{"goimports", "", "cache:goimports"},
	{"staticcheck", "STATICCHECK_CACHE", "cache:staticcheck"},
	{"npm", "npm_config_cache", ".npm"},
	{"node-gyp", "", "cache:node-gyp"},
	{"node", "", "cache:node"},
	{"yarn", "YARN_CACHE_FOLDER", "cache:yarn"},
	{"yarn", "", ".yarn/berry"},
	{"pnpm", "", "cache:pnpm"},
	{"pnpm", "PNPM_HOME", ".local/share/pnpm"},
	{"bun", "BUN_INSTALL_CACHE_DIR", ".bun/install/cache"},
	{"deno", "DENO_DIR", "cache:deno"},
	{"cargo", "", ".cargo/registry"},
	{"cargo", "", ".cargo/git"},
	{"sccache", "SCCACHE_DIR", "cache:sccache"},
	{"pip", "PIP_CACHE_DIR", "cache:pip"},
	{"pip3", "PIP_CACHE_DIR", "cache:pip"},
	{"uv", "UV_CACHE_DIR", "cache:uv"},
	{"poetry", "POETRY_CACHE_DIR", "cache:pypoetry"},
	{"gradle", "", ".gradle/caches"},
	{"mvn", "", ".m2/repository"},
	{"dotnet", "NUGET_PACKAGES", ".nuget/packages"},
	{"dart", "PUB_CACHE", ".pub-cache"},
	{"composer", "COMPOSER_CACHE_DIR", "cache:composer"},
	{"ccache", "CCACHE_DIR", "cache:ccache"},
	{"zig", "ZIG_GLOBAL_CACHE_DIR", "cache:zig"},
	{"mix", "", ".hex"},
	{"mix", "", ".mix"},
	{"cabal", "", ".cabal/packages"},
	{"bundle", "", ".bundle/cache"},
	{"cs", "", "cache:coursier"},
	{"metals", "", "cache:coursier"},
	{"jdtls", "", "cache:jdtls"},
	{"haskell-language-server-wrapper", "", "cache:ghcide"},
	{"haskell-language-server-wrapper", "", "cache:hie-bios"},
	{"zls", "", "cache:zls"},
	{"dart", "", ".dartServer"},
	{"swift", "", "cache:org.swift.swiftpm"},
	{"gleam", "", "cache:gleam"},
}

// Caches returns the directories of the toolchains that lookPath finds. It creates missing ones, because inside the boundary the
// toolchain could not.
func Caches(home string, getenv func(string) string, lookPath func(string) (string, error)) []string {
	if home == "" {
		return nil
	}
	var dirs []string
	for _, c := range caches {
		if _, err := lookPath(c.program); err != nil {
			continue
		}
		dir := c.directory(home, getenv)
		if !filepath.IsAbs(dir) {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err == nil { // a toolchain that cannot write its cache says so itself
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (c *cache) directory(home string, getenv func(string) string) string {
	if c.variable != "" {
		if dir := getenv(c.variable); dir != "" {
			if c.variable == "GOPATH" {
				return filepath.Join(filepath.SplitList(dir)[0], "pkg")
			}
			return dir
		}
	}
	const inCache = "cache:"
	if len(c.below) > len(inCache) && c.below[:len(inCache)] == inCache {
		root := filepath.Join(home, ".cache")
		if runtime.GOOS == "darwin" {
			root = filepath.Join(home, "Library", "Caches")
		}
		if dir := getenv("XDG_CACHE_HOME"); dir != "" && runtime.GOOS != "darwin" {
			root = dir
		}
		return filepath.Join(root, c.below[len(inCache):])
	}
	return filepath.Join(home, filepath.FromSlash(c.below))
}
