package events

import corev1 "k8s.io/api/core/v1"

// maxMessage is the API's limit on a note, in bytes.
const maxMessage = 1024

// Event is one thing that happened to an object.
type Event struct {
	// Type is "Normal" or "Warning".
	Type string
	// Reason says what happened, in one CamelCase word: the reason of the condition that changed.
	Reason string
	// Action says what was being done, in one CamelCase word. The API refuses an event without one.
	Action string
	// Message is a sentence for people.
	Message string
}

// Normal is an event that needs nobody's attention.
func Normal(reason, action, message string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Action: action, Message: message}
}

// Warning is an event that someone may want to act on.
func Warning(reason, action, message string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Message: message}
}
