package offline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

type object = map[string]any

// one makes an input with the whole argument as its only member.
func one(member string) func(string) (any, error) {
	return func(args string) (any, error) {
		if args == "" {
			return nil, errUsage
		}
		return object{member: args}, nil
	}
}

func readInput(args string) (any, error) {
	path, rest := cutPath(args)
	if path == "" || rest != "" {
		return nil, errUsage
	}
	return object{"path": path}, nil
}

func writeInput(args string) (any, error) {
	path, text := cutPath(args)
	if path == "" {
		return nil, errUsage
	}
	return object{"path": path, "content": unescape(text)}, nil
}

func editInput(args string) (any, error) {
	path, rest := cutPath(args)
	before, after, ok := strings.Cut(rest, " => ")
	if !ok {
		// "OLD =>" deletes OLD.
		before, ok = strings.CutSuffix(strings.TrimRight(rest, " "), " =>")
	}
	if path == "" || !ok || before == "" {
		return nil, errUsage
	}
	return object{"path": path, "edits": []any{object{"old_text": unescape(before), "new_text": unescape(after)}}}, nil
}

func findInput(args string) (any, error) {
	if args == "" {
		return nil, errUsage
	}
	return object{"paths": []string{args}}, nil
}

func planInput(args string) (any, error) {
	todos := []any{}
	for step := range strings.SplitSeq(args, ";") {
		step = strings.TrimSpace(step)
		if step == "" {
			continue
		}
		// "[x] step" is done and "[>] step" is being worked on.
		status := "pending"
		if s, ok := strings.CutPrefix(step, "[x] "); ok {
			step, status = s, "completed"
		} else if s, ok := strings.CutPrefix(step, "[>] "); ok {
			step, status = s, "in_progress"
		}
		todos = append(todos, object{"content": step, "status": status, "priority": "medium"})
	}
	if len(todos) == 0 {
		return nil, errUsage
	}
	return object{"todos": todos}, nil
}

// presentInput reads "TITLE | PLAN".
func presentInput(args string) (any, error) {
	title, plan, _ := strings.Cut(args, " | ")
	if title = strings.TrimSpace(title); title == "" || plan == "" {
		return nil, errUsage
	}
	return object{"title": title, "plan": unescape(plan)}, nil
}

// askInput reads "Q | A | B". A question alone gets the answers Yes and No; one with a bar but no answers takes any text.
func askInput(multi bool) func(args string) (any, error) {
	return func(args string) (any, error) {
		question, answers, choice := strings.Cut(args, "|")
		question = strings.TrimSpace(question)
		if question == "" {
			return nil, errUsage
		}
		if !choice {
			answers = "Yes | No"
		}
		options := []any{}
		for part := range strings.SplitSeq(answers, "|") {
			if part = strings.TrimSpace(part); part != "" {
				options = append(options, object{"label": part})
			}
		}
		q := object{"id": "question", "question": question, "options": options}
		if multi {
			q["multi"] = true
		}
		return object{"questions": []any{q}}, nil
	}
}

// taskInput reads "[@AGENT] TEXT | TEXT…": a task for each text. A helper gets its whole text, which may contain commands for
// its own model; the user sees the first line.
func taskInput(args string) (any, error) {
	in := object{}
	if name, rest := cutWord(args); strings.HasPrefix(name, "@") && len(name) > 1 {
		in["agent"], args = name[1:], rest
	}
	var tasks []any
	for text := range strings.SplitSeq(args, " | ") {
		assignment := strings.TrimSpace(unescape(text))
		if assignment == "" {
			return nil, errUsage
		}
		description, _, _ := strings.Cut(assignment, "\n")
		tasks = append(tasks, object{"id": fmt.Sprintf("task%d", len(tasks)+1), "description": description, "assignment": assignment})
	}
	in["tasks"] = tasks
	return in, nil
}

func resourceInput(args string) (any, error) {
	server, uri := cutWord(args)
	if server == "" || uri == "" {
		return nil, errUsage
	}
	return object{"server": server, "uri": strings.TrimRight(uri, " \t")}, nil
}

// actionInput reads "ACTION", then a JSON object or words "name=value". A value that is valid JSON is parsed; a word without
// "=" is the file.
func actionInput(args string) (any, error) {
	action, rest := cutWord(args)
	if action == "" {
		return nil, errUsage
	}
	input := object{}
	if strings.HasPrefix(rest, "{") {
		if err := jsonx.Unmarshal([]byte(rest), &input); err != nil {
			return nil, err
		}
		rest = ""
	}
	input["action"] = action
	for rest != "" {
		var word string
		word, rest = cutPath(rest)
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			input["file"] = word
			continue
		}
		if jsonx.Valid([]byte(value)) {
			input[name] = jsonx.Raw(value)
		} else {
			input[name] = value
		}
	}
	return input, nil
}

// cutWord splits off the first word. The rest keeps its inner and trailing space.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// cutPath is cutWord for a word that may be in double quotes, such as a path with spaces.
func cutPath(s string) (path, rest string) {
	s = strings.TrimLeft(s, " \t")
	if q, err := strconv.QuotedPrefix(s); err == nil && q[0] == '"' {
		if path, err = strconv.Unquote(q); err == nil {
			return path, strings.TrimLeft(s[len(q):], " \t")
		}
	}
	return cutWord(s)
}

var escapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)

// unescape replaces \n and \t by a newline and a tab, and \\ by a backslash.
func unescape(s string) string { return escapes.Replace(s) }
