package attempts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxAttempts bounds the attempts at one task.
const MaxAttempts = 10

// Arguments are those of the command /attempts that starts some.
type Arguments struct {
	Count int
	// Models are used in turn; none for that of the session.
	Models []string
	Task   string
}

// errUsage reports arguments that cannot be understood.
var errUsage = errors.New("use /attempts N [models…] -- task")

// ParseArguments reads "N [models…] -- task".
func ParseArguments(args string) (*Arguments, error) {
	head, task, ok := cutDashes(args)
	if task = strings.TrimSpace(task); !ok || task == "" {
		return nil, fmt.Errorf("%w: the task follows two dashes", errUsage)
	}
	fields := strings.Fields(head)
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: the number of attempts is missing", errUsage)
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil || n < 2 || n > MaxAttempts {
		return nil, fmt.Errorf("%w: the number of attempts is between 2 and %d, not %q", errUsage, MaxAttempts, fields[0])
	}
	a := &Arguments{Count: n, Models: fields[1:], Task: task}
	if len(a.Models) > n {
		return nil, fmt.Errorf("%w: %d models are more than %d attempts", errUsage, len(a.Models), n)
	}
	return a, nil
}

// cutDashes splits a text at the first "--" that is a word of its own.
func cutDashes(s string) (before, after string, ok bool) {
	for at := 0; ; {
		i := strings.Index(s[at:], "--")
		if i < 0 {
			return s, "", false
		}
		i += at
		at = i + 2
		if (i == 0 || isSpace(s[i-1])) && (at == len(s) || isSpace(s[at])) {
			return s[:i], s[at:], true
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
