//go:build unix

package shell_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// The first line of a watched command's output that matches is reported, once, while the command goes on. A line need not be complete.
func TestWatch(t *testing.T) {
	for name, command := range map[string]string{
		"a line":          `echo one; echo "listening on 8080"; echo listening again; cat go`,
		"a prompt":        `printf 'one\nlistening on 8080'; cat go`,
		"in pieces":       `printf 'listening on'; printf ' 8080\n'; cat go`,
		"after long ones": `head -c 100000 /dev/zero | tr '\0' x; echo; echo "listening on 8080"; cat go`,
	} {
		t.Run(name, func(t *testing.T) {
			w := shellWorld(t)
			ring := bell{make(chan struct{}, 1)}
			agent.SetValue(w.Values, ring)
			toolstest.Run(t, w, "bash", toolstest.Input{"command": "mkfifo go"})
			toolstest.Run(t, w, "bash", toolstest.Input{"command": command, "async": true, "watch": `^listening on .*\d$`})
			<-ring.rung
			title, text := late(w)
			if title != "job-1 has printed what it is watched for: listening on 8080" && title != "job-1 has printed what it is watched for: listening on 8" ||
				!strings.HasPrefix(text, "Background job job-1 has printed what you watch it for: ") || !strings.Contains(text, "\nlistening on 8") {
				t.Errorf("report %q: %q", title, text)
			}
			if w.Values.Waits() {
				t.Error("it is reported twice")
			}
			toolstest.Run(t, w, "job", toolstest.Input{"cancel": []string{"job-1"}})
		})
	}
}

// A watched command that ends without the line is reported like any other. A pattern needs a background command.
func TestWatch_Otherwise(t *testing.T) {
	w := shellWorld(t)
	ring := bell{make(chan struct{}, 1)}
	agent.SetValue(w.Values, ring)
	toolstest.Run(t, w, "bash", toolstest.Input{"command": "echo one", "async": true, "watch": "two"})
	<-ring.rung
	if title, text := late(w); title != "job-1 has ended: echo one" || strings.Contains(text, "watch") {
		t.Errorf("report %q: %q", title, text)
	}
	for _, in := range []toolstest.Input{
		{"command": "true", "watch": "x"},
		{"command": "true", "async": true, "watch": "("},
	} {
		if err := toolstest.Fails(t, w, "bash", in); !strings.Contains(err.Error(), "watch") {
			t.Errorf("%v: %v", in, err)
		}
	}
}
