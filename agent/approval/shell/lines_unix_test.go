//go:build unix

package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// risky are lines that ask in every mode: what they write, read or run is not what their first words say.
var risky = []string{
	"echo x > ~root/x",
	"echo x > ~+/../x",
	"cp a ~-/x",
	"rm -rf ~root",
	"env -C .. touch f",
	"env --chdir=/ rm x",
	"tar cf ../out.tar a",
	"tar -cf ../out.tar a",
	"tar czf ../o.tgz .",
	"git init ../x",
	"git clone . ../x",
	"uniq a ../x",
	"git worktree add /x",
	"git worktree add ../x main",
	"git archive -o ../x.tar HEAD",
	"git archive --output=/x HEAD",
	"git format-patch -o ../x HEAD~1",
	"zip /x.zip a",
	"unzip -d /x a.zip",
	"script /x",
	"strace -o /x ls",
	"go env -w GOPROXY=x",
	"npm config set script-shell /x",
	"printf -v 'a[$(touch ../f)]' x",
	"[[ -v 'a[$(touch ../f)]' ]]",
	"let 'a[$(touch ../f)]=1'",
	"test -v 'a[$(sudo id)]'",
	"unset 'a[$(sudo id)]'",
	"enable -f ./x.so y",
	"complete -C 'sudo id' x",
	"hash -p /x y",
	"ln -s .git gg; echo x > gg/hooks/post-commit",
	"ln -s $HOME/.bashrc q; tee -a q < a.txt",
	"ln -s ~ hh; rm hh/victim",
	"ln -sf ~ h; echo x > h/newfile",
	"cp a.txt .gi[t]/config",
	"cat .en*",
	"cat .[e]nv",
	"cat .??v",
	"rm -rf .gi?",
	"mv a .gi?/hooks/pre-commit",
	"sed -i s/a/b/ .gi?/config",
	"D=~/.bashrc; cp a $D",
	"cp x {.git,.}/hooks/pre-commit",
	"tee .gi?/hooks/pre-commit",
	"F=.env; cat $F",
	"cat < .en?",
	"cp -r ~/.ssh .",
	"tr '\\0' '\\n' < /proc/$PPID/environ",
	"xargs -I{} sudo id",
	"echo a | xargs -I{} sudo -n id",
	"env -S'sudo ls'",
	"flock f -c 'sudo ls'",
	"bash -o pipefail -c 'sudo ls'",
	"bash +x -c 'sudo ls'",
	"{ bash; } <<< 'sudo ls'",
	"taskset -c 1 sudo ls",
	"fd -xsudo",
	"sed --expression='1e sudo ls' a",
	"sed -n '1!e sudo ls' a",
	"mapfile -C 'sudo ls' x",
	"git --namespace x -c alias.y='!cmd' y",
	"git clone -u ./x . y",
	"git ls-remote --upl=./x .",
	"git grep --open-f=./x a",
	"git push --exec ./x",
	"tar --to-com ./x -xf a",
	"tar --checkpoint-act=exec=./x -cf a b",
	"git config --replace-all core.fsmonitor ./evil get",
	"git config core.hooksPath /tmp/evil list",
	"GIT_TRACE=$HOME/.bashrc git status",
	"XDG_CONFIG_HOME=./x git status",
	"MAKEFILES=./x make",
	"PATH=1 ls",
	"LD_PRELOAD=1 ls",
	"rg --pre ./x a",
	"sort --compress-program=./x a",
	"go vet -vettool=./x .",
	"go test -exec ./x .",
	"wget --use-askpass=./x a",
	"cp --target=/x a",
	"cp -t /x a",
	"man -P ./x a",
	"scp -S ./x a b:",
	"curl -so$HOME/.bashrc file:///etc/hostname",
	"chmod 4755 x",
	"ls *(e:'touch pwn':)",
	"systemd-run ls",
	"docker run -v /:/h x",
}

// usual are lines that a working day is made of; none of them asks for a reason of its own.
var usual = []string{
	"ls -la",
	"go test ./...",
	"go build ./...",
	"git status",
	"git log --oneline -5",
	"git diff HEAD~1",
	"npm test",
	"make build",
	"cat a.txt",
	"echo hi > sub/x",
	"grep -rn foo .",
	"find . -name '*.go'",
	"rg foo",
	"sed -n 1,5p a.txt",
	"sed -i s/a/b/ a.txt",
	"mkdir -p sub/x && cp a.txt sub/x/",
	"for f in *.go; do wc -l $f; done",
	"git add -A && git commit -m 'x'",
	"tar czf out.tgz sub",
	"FOO=bar go test ./...",
	"CGO_ENABLED=0 go build ./...",
	"ls *.go | xargs wc -l",
	"rm -rf sub/x",
	"ln -s a.txt b.txt",
	"cd sub && ls",
	"git checkout -b x",
	"git stash",
	"python3 -m pytest -q",
	"cargo build --release",
	"[ -f a.txt ] && echo yes",
	"[[ -n $x ]] && echo y",
	"echo $((1+2))",
	"test -d sub || mkdir sub",
	"export FOO=1; go test ./...",
	"cat *.txt",
	"git show HEAD:a.txt",
	"curl -s https://example.com",
	"docker ps",
	"npm install",
	"NODE_ENV=test npm test",
	"i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
}

func TestAnalyze_RiskyAndUsual(t *testing.T) {
	base := t.TempDir()
	ws, home := filepath.Join(base, "ws"), filepath.Join(base, "home")
	for _, dir := range []string{filepath.Join(ws, ".git", "hooks"), filepath.Join(ws, "sub"), home} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".env", "a.txt"} {
		if err := os.WriteFile(filepath.Join(ws, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	paths := &shell.Paths{Roots: []string{ws}, Home: home, Real: func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return filepath.Clean(path)
	}}
	for _, line := range risky {
		if c := shell.Analyze(line, ws, paths); len(c.Risks) == 0 {
			t.Errorf("does not ask: %s", line)
		}
	}
	for _, line := range usual {
		if c := shell.Analyze(line, ws, paths); len(c.Risks) > 0 {
			t.Errorf("asks: %s: %s", line, strings.Join(c.Risks, "; "))
		}
	}
}
