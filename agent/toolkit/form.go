package toolkit

type (
	// FormSchema is the schema of a form, in the subset of JSON Schema that editors show.
	FormSchema struct {
		Type       string               `json:"type"`
		Properties map[string]FormField `json:"properties"`
		Required   []string             `json:"required,omitzero"`
	}
	// FormField is a field of a form.
	FormField struct {
		Type        string     `json:"type"`
		Title       string     `json:"title,omitzero"`
		Description string     `json:"description,omitzero"`
		Enum        []string   `json:"enum,omitzero"`
		Items       *FormItems `json:"items,omitzero"`
		Default     any        `json:"default,omitzero"`
	}
	// FormItems are the options of a field that accepts several answers.
	FormItems struct {
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	}
)
