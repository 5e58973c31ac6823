package toolkit

// The schema of a form, in the subset that editors show.
type (
	FormSchema struct {
		Type       string               `json:"type"`
		Properties map[string]FormField `json:"properties"`
		Required   []string             `json:"required,omitzero"`
	}
	FormField struct {
		Type        string     `json:"type"`
		Title       string     `json:"title,omitzero"`
		Description string     `json:"description,omitzero"`
		Enum        []string   `json:"enum,omitzero"`
		Items       *FormItems `json:"items,omitzero"`
		Default     any        `json:"default,omitzero"`
	}
	FormItems struct {
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	}
)
