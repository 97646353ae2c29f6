package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Breach is a rule of the protocol that a driver has broken.
type Breach struct {
	Driver   string
	Rule     string
	Line     string   // the line that breaks it, or ""
	Exchange []string // the lines before it, "> " sent and "< " received
}

func (b *Breach) Error() string {
	text := b.Driver + ": its driver broke the protocol: " + b.Rule
	if b.Line != "" {
		text += ": " + b.Line
	}
	return text
}

func (p *Process) breach(line, rule string) *Breach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Breach{p.command.Name, p.redact(rule), p.redact(shortened(line)), slices.Clone(p.last.lines)}
}

// redacted replaces passwords in printed and stored text.
const redacted = "(redacted)"

// hide makes redact replace a client's credentials, and the part after the user's name. The caller
// holds p.mu.
func (p *Process) hide(auth string) {
	_, password, _ := strings.Cut(auth, ":")
	for _, secret := range []string{auth, password} {
		if secret != "" && !slices.Contains(p.secrets, secret) {
			p.secrets = append(p.secrets, secret)
			quoted, _ := json.Marshal(secret)
			if inner := string(quoted[1 : len(quoted)-1]); inner != secret {
				p.secrets = append(p.secrets, inner)
			}
		}
	}
	slices.SortFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
	p.output.hide(p.secrets)
}

// redact replaces the passwords in a text. The caller holds p.mu.
func (p *Process) redact(text string) string { return redact(p.secrets, text) }

func redact(secrets []string, text string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// exchange is the last lines of a conversation.
type exchange struct{ lines []string }

func (e *exchange) add(mark, line string) {
	if len(e.lines) == 20 {
		e.lines = slices.Delete(e.lines, 0, 1)
	}
	e.lines = append(e.lines, mark+shortened(line))
}

// shortened truncates a line for display.
func shortened(line string) string {
	const most = 300
	line = strings.TrimRight(line, "\r\n")
	if len(line) > most {
		return fmt.Sprintf("%s... (%d bytes and more)", strings.ToValidUTF8(line[:most], ""), len(line))
	}
	return line
}

// Exchange returns the last lines of the conversation, oldest first.
func (p *Process) Exchange() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last.lines)
}
