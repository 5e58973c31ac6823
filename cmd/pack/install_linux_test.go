package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/gajae-code/gjc/internal/testenv"
)

// The tests of this file install what goreleaser and this command have made, each into an empty root, and use it from there.
// "./task release:test" runs them.

// snapshot returns the release that the environment names, with its directory.
func snapshot(t *testing.T) (*release, string) {
	t.Helper()
	dist := os.Getenv("GJC_RELEASE_DIST")
	if dist == "" {
		t.Skip("GJC_RELEASE_DIST names no release; run ./task release:test")
	}
	r, err := readRelease(dist, filepath.Join(testenv.ModuleRoot(t), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	return r, dist
}

// one returns the file that matches the pattern.
func one(t *testing.T, pattern ...string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", filepath.Join(pattern...), found, err)
	}
	return found[0]
}

// sandbox returns bubblewrap's arguments for a process without a network, and without variables but those given.
func sandbox(user string, env []string, args ...string) []string {
	all := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent", "--uid", user, "--gid", user, "--clearenv"}
	for _, variable := range append(testenv.RunEnv(), env...) {
		name, value, _ := strings.Cut(variable, "=")
		all = append(all, "--setenv", name, value)
	}
	return append(all, args...)
}

// installer runs a program that installs as root does: as user 0 of a user namespace.
func installer(t *testing.T, args ...string) string {
	t.Helper()
	bwrap := testenv.NeedsTool(t, "bwrap")
	env := []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + t.TempDir()}
	out, err := exec.CommandContext(t.Context(), bwrap, slices.Concat(sandbox("0", env, "--cap-add", "ALL", "--dev-bind", "/", "/", "--"), args)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// inside returns a command that sees only the files of root, as a user who is not root.
func inside(t *testing.T, root string, mounts []string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	all := sandbox("65532", append([]string{"HOME=/home/gjc", "PATH=/usr/local/bin:/usr/bin:/bin"}, env...), "--bind", root, "/", "--proc", "/proc", "--dev", "/dev")
	all = append(append(all, mounts...), "--chdir", "/")
	return exec.CommandContext(t.Context(), testenv.NeedsTool(t, "bwrap"), slices.Concat(all, []string{"--"}, args)...)
}

// version returns what "gjc version" prints inside root.
func version(t *testing.T, root, program string) string {
	t.Helper()
	out, err := inside(t, root, nil, nil, program, "version").CombinedOutput()
	if err != nil {
		t.Fatalf("%s version: %v: %s", program, err, out)
	}
	return string(out)
}

// demo runs "gjc demo" inside root. It needs git, Go and a shell, which this machine lends.
func demo(t *testing.T, root, program string) {
	t.Helper()
	goroot := goEnv(t, "GOROOT")
	var mounts []string
	for _, dir := range []string{"home/gjc", "tmp", "usr/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/usr/lib", "/usr/lib64", goroot} {
		mounts = append(mounts, "--ro-bind", dir, dir)
	}
	mounts = append(mounts, "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--bind", goEnv(t, "GOCACHE"), "/cache")
	for _, tool := range []string{"bash", "env", "git", "rm", "sh", "sleep"} {
		path, err := filepath.EvalSymlinks(testenv.NeedsTool(t, tool))
		if err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, "--ro-bind", path, "/usr/bin/"+tool)
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:" + goroot + "/bin", "GOCACHE=/cache", "GOTOOLCHAIN=local", "GOPROXY=off", "CGO_ENABLED=0"}
	out, err := inside(t, root, mounts, env, program, "demo").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "checks passed.") {
		t.Fatalf("%s demo: %v\n%s", program, err, out)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// says checks the version that an installed program prints.
func (r *release) says(t *testing.T, got string) {
	t.Helper()
	if !strings.HasPrefix(got, "gjc "+r.version+" (") {
		t.Errorf("the version is %q, want %s", got, r.version)
	}
}

// holds checks the files that a package installs besides the program, and that bash reads the completion.
func holds(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, name := range files {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if strings.Contains(name, "bash") {
			if out, err := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "bash"), "-n", filepath.Join(root, name)).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}
	}
}

func TestInstall_Archive(t *testing.T) {
	r, dist := snapshot(t)
	root := t.TempDir()
	here := target{"linux", "amd64"}
	if out, err := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "tar"), "-xzf", filepath.Join(dist, r.archives[here].name), "-C", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	diff(t, "archive", names, []string{"LICENSE", "README.md", "completions", "gjc", "man"})
	holds(t, root, "LICENSE", "README.md", "man/man1/gjc.1", "completions/gjc.bash", "completions/_gjc", "completions/gjc.fish")
	r.says(t, version(t, root, "/gjc"))
	demo(t, root, "/gjc")
	page, err := os.ReadFile(filepath.Join(root, "man", "man1", "gjc.1"))
	if err != nil || !strings.Contains(string(page), "gjc "+strings.ReplaceAll(r.version, "-", `\-`)) && !strings.Contains(string(page), "gjc "+r.version) {
		t.Errorf("the manual page names another version: %.200s, %v", page, err)
	}
}

// A whole release has archives for Windows too; a snapshot of one platform has none.
func TestInstall_Zip(t *testing.T) {
	r, dist := snapshot(t)
	for _, to := range targets[4:] {
		if r.archives[to].name == "" {
			continue
		}
		z, err := zip.OpenReader(filepath.Join(dist, r.archives[to].name))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range z.File {
			names = append(names, f.Name)
		}
		for _, name := range []string{"gjc.exe", "LICENSE", "README.md", "completions/gjc.ps1", "man/man1/gjc.1"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s has no %s: %q", r.archives[to].name, name, names)
			}
		}
		_ = z.Close()
	}
}

func TestInstall_Deb(t *testing.T) {
	r, dist := snapshot(t)
	testenv.NeedsTool(t, "dpkg")
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	installer(t, "dpkg", "--root="+root, "--log=/dev/null", "-i", one(t, dist, "*_amd64.deb"))
	got := installer(t, "dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"), "-W", "-f", "${Status}|${Version}|${Recommends}|${Architecture}", "gjc")
	diff(t, "package", got, "install ok installed|"+strings.Replace(r.version, "-", "~", 1)+"|git, ripgrep, bubblewrap|amd64")
	r.says(t, version(t, root, "/usr/bin/gjc"))
	files := []string{
		"usr/share/man/man1/gjc.1.gz", "usr/share/man/man1/gjc-acp.1.gz", "usr/share/doc/gjc/copyright", "usr/share/bash-completion/completions/gjc",
		"usr/share/zsh/vendor-completions/_gjc", "usr/share/fish/vendor_completions.d/gjc.fish",
	}
	holds(t, root, files...)
	demo(t, root, "/usr/bin/gjc")
	installer(t, "dpkg", "--root="+root, "--log=/dev/null", "--purge", "gjc")
	for _, name := range append(files, "usr/bin/gjc") {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func TestInstall_RPM(t *testing.T) {
	r, dist := snapshot(t)
	testenv.NeedsTool(t, "rpm")
	root := t.TempDir()
	rpm := []string{"rpm", "--root", root, "--dbpath", "/var/lib/rpm"}
	installer(t, append(rpm, "--force-debian", "-i", one(t, dist, "*.x86_64.rpm"))...)
	got := installer(t, append(rpm, "-q", "--qf", "%{VERSION}|%{LICENSE}|[%{RECOMMENDNAME} ]", "gjc")...)
	diff(t, "package", got, strings.Replace(r.version, "-", "~", 1)+"|MIT|git ripgrep bubblewrap ")
	installer(t, append(rpm, "--verify", "gjc")...)
	r.says(t, version(t, root, "/usr/bin/gjc"))
	holds(t, root, "usr/share/man/man1/gjc.1.gz", "usr/share/doc/gjc/copyright", "usr/share/bash-completion/completions/gjc",
		"usr/share/zsh/site-functions/_gjc", "usr/share/fish/vendor_completions.d/gjc.fish")
	demo(t, root, "/usr/bin/gjc")
	installer(t, append(rpm, "--force-debian", "-e", "gjc")...)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/gjc")); err == nil {
		t.Error("the program is left")
	}
}

// npm installs the packed packages without a network and without a cache.
func TestInstall_NPM(t *testing.T) {
	r, dist := snapshot(t)
	testenv.NeedsTool(t, "npm")
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "npm_config_cache=" + filepath.Join(home, "cache"), "npm_config_update_notifier=false"}
	packages := []string{one(t, dist, "npm", "gajae-code-gjc-[0-9]*.tgz"), one(t, dist, "npm", "gajae-code-gjc-linux-x64-*.tgz")}
	install := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "bwrap"), slices.Concat(
		sandbox("0", env, "--dev-bind", "/", "/", "--chdir", dir, "--", "npm", "install", "--offline", "--no-audit", "--no-fund"), packages,
	)...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "gjc"), args...)
		cmd.Dir, cmd.Env = t.TempDir(), append(testenv.RunEnv(), "PATH="+os.Getenv("PATH"), "HOME="+home, "GOCACHE="+goEnv(t, "GOCACHE"), "GOTOOLCHAIN=local")
		return cmd
	}
	out, err := run("version").Output()
	if err != nil {
		t.Fatal(err)
	}
	r.says(t, string(out))
	if out, err := run("demo").CombinedOutput(); err != nil || !strings.Contains(string(out), "checks passed.") {
		t.Errorf("gjc demo: %v\n%s", err, out)
	}
	if exit, ok := errors.AsType[*exec.ExitError](run("no-such-command").Run()); !ok || exit.ExitCode() != 2 {
		t.Errorf("the exit status of a wrong command: %v", err)
	}
	for _, end := range []string{"the end of standard input", "SIGTERM"} {
		cmd := run("acp")
		stdin, info := handshake(t, cmd)
		diff(t, "version of the agent", info, r.version)
		if end == "SIGTERM" {
			err = cmd.Process.Signal(syscall.SIGTERM)
		} else {
			err = stdin.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		// Wait returns only when the program too has closed standard error, which both hold.
		if err := cmd.Wait(); err != nil && end != "SIGTERM" {
			t.Errorf("%s: %v", end, err)
		}
	}
}

// handshake starts an agent, initializes it and returns the version that it reports.
func handshake(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, string) {
	t.Helper()
	cmd.Stderr = new(bytes.Buffer)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var response struct {
		Result struct {
			AgentInfo struct{ Version string }
		}
	}
	if err != nil || json.Unmarshal(line, &response) != nil {
		t.Fatalf("%q, %v, %v", line, err, cmd.Stderr)
	}
	return stdin, response.Result.AgentInfo.Version
}

// The image is the program without anything else: it answers an editor, says what it lacks, and runs the demo when the tools
// of a derived image are there.
func TestInstall_Image(t *testing.T) {
	r, dist := snapshot(t)
	configs, layers, top := readImages(t, filepath.Join(dist, "image"))
	if v := configs["amd64"].Config.Labels["org.opencontainers.image.version"]; v != r.version {
		t.Errorf("the label has the version %s, not %s", v, r.version)
	}
	root := t.TempDir()
	unpack(t, layers["amd64"], root)
	program := configs["amd64"].Config.Entrypoint[0]
	r.says(t, version(t, root, program))
	agent := inside(t, root, nil, configs["amd64"].Config.Env, program, "acp")
	stdin, info := handshake(t, agent)
	diff(t, "version of the agent", info, r.version)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("%v: %v", err, agent.Stderr)
	}
	out, err := inside(t, root, nil, configs["amd64"].Config.Env, program, "demo").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the demo needs git and Go on PATH") {
		t.Errorf("the demo without git: %v, %s", err, out)
	}
	demo(t, root, program)
	checkPush(t, testenv.NeedsCrane(t), filepath.Join(dist, "image"), top)
}

// The bill of materials names the version and each module that is linked.
func TestInstall_SBOM(t *testing.T) {
	r, dist := snapshot(t)
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Timestamp string
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	data, err := os.ReadFile(filepath.Join(dist, "gjc-linux-x86_64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	diff(t, "bill of materials", []string{bom.BOMFormat, bom.Metadata.Component.Name, bom.Metadata.Component.Version, bom.Metadata.Timestamp},
		[]string{"CycloneDX", "github.com/gajae-code/gjc", "v" + r.version, ""})
	have := make(map[string]string)
	for _, c := range bom.Components {
		have[c.Name] = c.Version
	}
	linked, err := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "version", "-m", r.programs[target{"linux", "amd64"}]).Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(linked)) {
		if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" {
			if n++; have[f[1]] != f[2] {
				t.Errorf("%s %s is in the program, and %q in the bill of materials", f[1], f[2], have[f[1]])
			}
		}
	}
	if n < 20 || have["std"] == "" {
		t.Errorf("%d modules, standard library %q", n, have["std"])
	}
}

// "sha256sum -c" accepts the sums, and each archive, package and bill of materials has one.
func TestInstall_Checksums(t *testing.T) {
	_, dist := snapshot(t)
	check := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "sha256sum"), "--check", "--strict", "checksums.txt")
	check.Dir = dist
	out, err := check.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, pattern := range []string{"*.tar.gz", "*.zip", "*.deb", "*.rpm", "*.cdx.json"} {
		files, _ := filepath.Glob(filepath.Join(dist, pattern)) // the pattern is valid
		for _, f := range files {
			if !strings.Contains(string(out), filepath.Base(f)+": OK\n") {
				t.Errorf("no sum of %s", filepath.Base(f))
			}
		}
	}
}

// sources returns a directory with a copy of the files that git knows or would add.
func sources(t *testing.T) string {
	t.Helper()
	dir, root := filepath.Join(t.TempDir(), "elsewhere"), testenv.ModuleRoot(t)
	list := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "git"), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A build of a copy of the source, in another directory and with an empty cache, is the released program to the byte.
func TestInstall_SameBytes(t *testing.T) {
	r, _ := snapshot(t)
	source := sources(t)
	program := filepath.Join(t.TempDir(), "gjc")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.release="+r.version, "-o", program, "./cmd/gjc")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+t.TempDir())
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want, err := os.ReadFile(r.programs[target{"linux", "amd64"}])
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(program)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("another build has %d bytes with the digest %s, the released one %d with %s; %v", len(got), digest(got), len(want), digest(want), err)
	}
}

// "go install …@latest" takes the module from a proxy, as it does from a tag.
func TestInstall_Go(t *testing.T) {
	snapshot(t)
	const version = "v0.98.7"
	proxy := t.TempDir()
	dir := filepath.Join(proxy, "github.com", "gajae-code", "gjc", "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := sources(t)
	var packed bytes.Buffer
	if err := modzip.CreateFromDir(&packed, module.Version{Path: "github.com/gajae-code/gjc", Version: version}, root); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": mod, version + ".zip": packed.Bytes(), version + ".info": []byte(`{"Version":"` + version + `"}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	install := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "install", "github.com/gajae-code/gjc/cmd/gjc@latest")
	install.Dir = t.TempDir()
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+t.TempDir(), "GOSUMDB=off", "GONOPROXY=none", "GOPRIVATE=", "CGO_ENABLED=0", "GOFLAGS=-modcacherw -trimpath",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download"))
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "gjc"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "gjc 0.98.7 (") {
		t.Errorf("%s, %v", out, err)
	}
}
