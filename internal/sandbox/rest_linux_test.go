package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// When a program is reported to have ended, the rest of its process group has ended, too: it can change nothing afterwards.
func TestBox_GroupEndsFirst(t *testing.T) {
	testenv.NoLeaks(t)
	root := testenv.DirOutsideTemp(t)
	box := open(t, boxes(t), &sandbox.Policy{Write: []string{root}})
	for range 5 {
		if out, err := inside(t, box, "cd "+root+"; while :; do touch again; done </dev/null >/dev/null 2>&1 &"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if box.Busy(t.Context()) {
			t.Error("programs run on")
		}
		again := filepath.Join(root, "again")
		if err := os.Remove(again); err != nil {
			t.Error(err)
		}
		if out, err := inside(t, box, "true"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := os.Lstat(again); err == nil {
			t.Error("the rest of the group has gone on")
		}
	}
}

// What ended programs have left is ended, also if it has another group, environment or parent; what running ones have started goes on.
func TestBox_EndRest(t *testing.T) {
	testenv.NoLeaks(t)
	testenv.NeedsTool(t, "setsid")
	temp := t.TempDir()
	box := open(t, boxes(t), &sandbox.Policy{Temp: temp})
	const loop = `while [ ! -e /tmp/over ]; do touch /tmp/$0; rm -f /tmp/asked-$0; sleep 0.01; done`
	runs := make(chan string, 1)
	go func() {
		out, err := inside(t, box, `setsid sh -c '`+loop+`' child & sh -c '`+loop+`' self; wait`)
		runs <- fmt.Sprint(out, err)
	}()
	if out, err := inside(t, box, `setsid env -i PATH="$PATH" sh -c '`+loop+`' left >/dev/null 2>&1 &
(setsid sh -c 'sh -c "`+strings.ReplaceAll(loop, "$0", "grandchild")+`" &' >/dev/null 2>&1 &)
setsid sh -c 'while :; do setsid sh -c : ; done' >/dev/null 2>&1 &
for name in child self left grandchild; do until [ -e /tmp/$name ]; do sleep 0.01; done; done`); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := box.EndRest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := inside(t, box, `for name in child self left grandchild; do touch /tmp/asked-$name; done
for name in child self; do while [ -e /tmp/asked-$name ]; do sleep 0.01; done; done
ls /tmp | grep asked; touch /tmp/over`); err != nil || out != "asked-grandchild\nasked-left\n" {
		t.Errorf("%v; of what was ended, this did not: %q", err, out)
	}
	if got := <-runs; got != "<nil>" {
		t.Errorf("the program that ran on: %s", got)
	}
}
