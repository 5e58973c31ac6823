package conformance

import (
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// A Purpose is what a prompt makes an agent do.
type Purpose string

// The purposes. A prompt may have the placeholders named here; {file} is a path relative to the session's working
// directory.
const (
	PurposeSay         Purpose = "say"          // answer with {text}, in words
	PurposeThink       Purpose = "think"        // think, then answer
	PurposeLong        Purpose = "long"         // stream text for at least ten seconds
	PurposeRead        Purpose = "read"         // read {file} with a tool and report its content
	PurposeWrite       Purpose = "write"        // write {text} into the new {file} with a tool
	PurposeEdit        Purpose = "edit"         // replace {old} with {text} in {file} with a tool
	PurposeCommand     Purpose = "command"      // run a shell command that puts {text} into {file}, after asking
	PurposeSlowCommand Purpose = "slow-command" // run a shell command that takes minutes
	PurposePlan        Purpose = "plan"         // publish a plan, and update it
	PurposeAsk         Purpose = "ask"          // ask the user a question with a form
	PurposeImage       Purpose = "image"        // comment on what is in the prompt
	PurposeLength      Purpose = "max-tokens"   // stop at the model's output limit
	PurposeRefusal     Purpose = "refusal"      // refuse
	PurposeFail        Purpose = "fail"         // fail like an unreachable model
)

// Prompts maps purposes to prompts. If a prompt is missing or empty, the agent does not support the purpose; the checks that need
// it are skipped.
type Prompts map[Purpose]string

// defaultPrompts are for a language model.
func defaultPrompts() Prompts {
	return Prompts{
		PurposeSay:   "Answer with exactly this one word and nothing else, and use no tools: {text}",
		PurposeThink: "Think step by step about how many prime numbers lie between 100 and 120, then answer with the number. Use no tools.",
		PurposeLong:  "Write a story of three thousand words about a lighthouse. Use no tools, do not ask anything, begin at once.",
		PurposeRead:  "Read the file {file} with your file reading tool, in this session's working directory, and answer with exactly what it says.",
		PurposeWrite: "Create the file {file} in this session's working directory with your file writing tool. Its whole content is: {text}",
		PurposeEdit:  "In the file {file} in this session's working directory, replace {old} by {text} with your file editing tool.",
		PurposeCommand: "Run exactly this shell command in this session's working directory, once, and nothing else: " +
			"echo {text} > {file}",
		PurposeSlowCommand: "Run exactly this shell command in the foreground and wait for it: sleep 600",
		PurposePlan: "Make a plan of three steps for writing a haiku with your planning or todo tool, mark the first step as done, " +
			"and stop. Write no files.",
		PurposeAsk:   "Ask me with your question tool whether I prefer red or blue, then stop.",
		PurposeImage: "Answer with one word about what this message contains. Use no tools.",
	}
}

// GJCPrompts are for gjc's offline model, which follows commands.
func GJCPrompts() Prompts {
	return Prompts{
		PurposeSay:         "!say {text}",
		PurposeThink:       "!think {text}\n!say {text}",
		PurposeLong:        "!say 300\n!think and on\n!say 300\n!wait",
		PurposeRead:        "!read {file}",
		PurposeWrite:       "!write {file} {text}",
		PurposeEdit:        "!edit {file} {old} => {text}",
		PurposeCommand:     "!bash echo {text} > {file}",
		PurposeSlowCommand: "!bash sleep 600",
		PurposePlan:        "!plan one; two; three\n!plan [x] one; [>] two; three",
		PurposeAsk:         "!ask Which one? | Red | Blue",
		PurposeImage:       "!say seen",
		PurposeLength:      "!stop length",
		PurposeRefusal:     "!stop refusal",
		PurposeFail:        "!fail invalid_request",
	}
}

// ReadPrompts reads a YAML or JSON file of prompts by purpose. Missing prompts default to [defaultPrompts]. The name "gjc" stands
// for [GJCPrompts].
func ReadPrompts(name string) (Prompts, error) {
	if name == "gjc" {
		return GJCPrompts(), nil
	}
	prompts := defaultPrompts()
	known := GJCPrompts()
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the prompts: %w", err)
	}
	var own map[Purpose]string
	if err := yaml.Unmarshal(data, &own); err != nil {
		return nil, fmt.Errorf("reading the prompts in %s: %w", name, err)
	}
	for purpose, text := range own {
		if _, ok := known[purpose]; !ok {
			return nil, fmt.Errorf("reading the prompts in %s: unknown purpose %q", name, purpose)
		}
		prompts[purpose] = text
	}
	return prompts, nil
}

// fill replaces placeholders in a prompt, given as name, value, name, value.
func fill(prompt string, values ...string) string {
	pairs := make([]string, len(values))
	for i := range values {
		pairs[i] = values[i]
		if i%2 == 0 {
			pairs[i] = "{" + values[i] + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(prompt)
}
