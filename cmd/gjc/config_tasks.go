package main

// taskSettings is the section task.
func (c *config) taskSettings() map[string]setting {
	tasks := &c.context.Tasks
	return map[string]setting{
		"enableLsp":         boolean(&c.lsp.subagents),
		"maxConcurrency":    number(&tasks.MaxConcurrency, 1, 32),
		"maxRecursionDepth": number(&tasks.MaxDepth, 1, 5),
		"maxTokens":         number(&tasks.MaxTokens, 0, mostTokens),
		"disabledAgents":    words(&tasks.Disabled),
	}
}
